// Asked inside a page by tests/page/check: waits for the charts, then says what is wrong to the frame around it.
"use strict";
(() => {
  const wrong = [];
  const say = (what) => wrong.push(`WRONG ${what}|`);
  const root = document.documentElement;
  const name = (e) => `<${e.tagName.toLowerCase()}${e.id ? " #" + e.id : ""}> "${(e.textContent || "").trim().slice(0, 40)}"`.replace(/[<>|]/g, "");

  // Relative luminance and contrast after WCAG 2.2.
  const parse = (c) => { const p = c.match(/[\d.]+/g).map(Number); return [p[0], p[1], p[2], p.length > 3 ? p[3] : 1]; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; })
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const ground = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const c = parse(getComputedStyle(at).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 1]);
  };

  const ask = () => {
    if (root.scrollWidth > innerWidth) say(`overflow: the page is ${root.scrollWidth} px wide in ${innerWidth}`);
    for (const e of document.querySelectorAll("body *")) {
      if (e.closest(".wide, pre.columns, svg, .js-plotly-plot") || !e.getClientRects().length) continue;
      if (e.getBoundingClientRect().right > innerWidth + 0.5) say(`overflow: ${name(e)} ends at ${e.getBoundingClientRect().right}`);
    }
    let texts = 0;
    for (const e of document.querySelectorAll("body *")) {
      const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      if (!own || !e.getClientRects().length || /^(SCRIPT|STYLE)$/.test(e.tagName)) continue;
      const style = getComputedStyle(e);
      const svg = e.namespaceURI.endsWith("svg");
      if (svg && (style.fillOpacity === "0" || style.opacity === "0")) continue;
      const back = ground(e.closest("svg") ? e.closest("svg").parentElement : e);
      const found = ratio(over(parse(svg ? style.fill : style.color), back), back);
      texts += 1;
      const large = parseFloat(style.fontSize) >= 24;
      if (found < (large ? 3 : 4.5)) say(`contrast ${found.toFixed(2)}: ${name(e)}`);
    }
    const plots = [...document.querySelectorAll(".plot")];
    for (const p of plots) {
      if (!p.getAttribute("aria-label")) say(`label: ${p.id} has none`);
      if (!p.querySelector("svg.main-svg")) { say(`chart: ${p.id} is empty`); continue; }
      if (!p.querySelector(".trace path, .hm image, .scatterlayer path")) say(`chart: ${p.id} has no data`);
      const width = p.querySelector("svg.main-svg").getBoundingClientRect().width;
      if (Math.abs(width - p.clientWidth) > 1) say(`overflow: chart ${p.id} is ${width} px wide in ${p.clientWidth}`);
      if (p.querySelector('[data-title*="hare"], [data-title*="loud"]')) say(`chart: ${p.id} offers to send its data away`);
    }
    if (!plots.length) say("chart: there is none");
    if (Number(root.dataset.drawn) !== plots.length) say(`chart: ${root.dataset.drawn} drawn, ${plots.length} places`);
    for (const e of document.querySelectorAll("svg[role=img]")) if (!e.getAttribute("aria-label")) say(`label: ${name(e)}`);
    // A gauge: what was measured lies on it, its figures do not overlap, and the word is not told by colour alone.
    for (const claim of document.querySelectorAll(".claim")) {
      if (!/PASS|FAIL|INCONCLUSIVE|INVALID/.test(claim.querySelector(".badge").textContent)) say(`label: ${name(claim)} has no word`);
      const box = claim.querySelector(".gauge").getBoundingClientRect();
      for (const e of claim.querySelectorAll(".flag, .dot")) {
        const at = e.getBoundingClientRect();
        if (at.left < box.left - 0.5 || at.right > box.right + 0.5) say(`overflow: ${name(e)} leaves its gauge`);
      }
    }
    parent.postMessage(`charts ${plots.length}, texts ${texts}. ${wrong.join(" ")}`, "*");
  };
  const wait = (tries) => root.dataset.drawn || tries === 0 ? setTimeout(ask, 300) : setTimeout(wait, 100, tries - 1);
  wait(300);
})();
