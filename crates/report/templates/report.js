"use strict";
// Draws what the page's data holds; nothing is computed here but places and colours. The page is complete without it.
(() => {
  const root = document.documentElement;
  const { steps, course } = JSON.parse(document.getElementById("data").textContent);
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)").matches;
  const paper = () => root.classList.contains("paper");
  const narrow = () => innerWidth < 640 || paper();
  const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";

  // Colours are those of the style sheet, so that page and charts never differ.
  const probe = document.body.appendChild(document.createElement("span"));
  probe.hidden = true;
  const colour = (name, alpha = 1) => {
    probe.style.color = `var(--${name})`;
    const [r, g, b] = getComputedStyle(probe).color.match(/[\d.]+/g);
    return `rgba(${r},${g},${b},${alpha})`;
  };
  const INKS = { read: "accent", write: "second", trim: "third", sync: "fourth" };
  const ink = (name, alpha) => colour(INKS[name.split(" ")[0]] || "accent", alpha);
  // Plotly reads a few tags in text; a foreign name is only text.
  const text = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const digits = (v) => v >= 99.95 ? Math.round(v).toLocaleString("en-US") : v >= 9.995 ? v.toFixed(1) : v.toFixed(2);
  const time = (us) => us === null ? "" : us < 1 ? `${Math.round(us * 1e3)} ns` : us < 999.5 ? `${digits(us)} µs`
    : us < 999500 ? `${digits(us / 1e3)} ms` : `${digits(us / 1e6)} s`;
  const clock = (s) => {
    const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
    const rest = `${s % 60 % 1 ? (s % 60).toFixed(1) : s % 60} s`;
    return h ? `${h} h ${m} min ${rest}` : m ? `${m} min ${rest}` : rest;
  };
  const places = (c, n) => Array.from({ length: n }, (_, i) => c.first + i * c.step);

  const DECADES = Array.from({ length: 13 }, (_, i) => i - 3);
  const nice = (wanted) => {
    const decade = 10 ** Math.floor(Math.log10(wanted));
    return [1, 2, 5, 10].find((n) => n * decade >= wanted) * decade;
  };
  const micros = (title, values, steps = [1]) => {
    const drawn = values.filter((v) => v > 0);
    const low = drawn.reduce((a, b) => Math.min(a, b), Infinity) / 1.2;
    const high = drawn.reduce((a, b) => Math.max(a, b), 0) * 1.2;
    let ticks = DECADES.flatMap((d) => steps.map((m) => m * 10 ** d)), range = null;
    // Within two decades the powers of ten say too little.
    if (drawn.length && high / low < 30) {
      const step = nice((high - low) / 4);
      ticks = Array.from({ length: Math.ceil((high - low) / step) + 1 }, (_, i) => (Math.floor(low / step) + i) * step).filter((t) => t > 0);
      range = [Math.log10(low), Math.log10(high)];
    }
    const ticktext = ticks.map((t) => time(t).replace(/\.0+ /, " "));
    return { type: "log", title: { text: title, standoff: 10 }, tickvals: ticks, ticktext, ...(range && { range }) };
  };
  const seconds = (long) => {
    const unit = long > 7200 ? 3600 : long > 240 ? 60 : 1;
    const wanted = long / unit / (narrow() ? 3 : 6);
    const nice = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60].find((n) => n >= wanted) || Math.ceil(wanted);
    const ticks = Array.from({ length: Math.floor(long / unit / nice) + 1 }, (_, i) => i * nice * unit);
    const word = unit === 3600 ? "h" : unit === 60 ? "min" : "s";
    return { tickvals: ticks, ticktext: ticks.map((t) => `${+(t / unit).toFixed(1)} ${word}`) };
  };

  const shades = () => dark() ? [[0, "#1f3547"], [0.5, "#3f83b8"], [1, "#d3ebff"]] : [[0, "#dcebf7"], [0.5, "#5a9bd0"], [1, "#06355c"]];
  const base = (height) => ({
    height, autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: paper() ? 9 : 12, color: colour("soft") },
    margin: paper() ? { l: 54, r: 8, t: 34, b: 24 } : { l: 74, r: 16, t: coarse || narrow() ? 84 : 34, b: 36 }, hovermode: "x unified", dragmode: coarse ? false : "zoom",
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } },
    legend: { orientation: "h", x: 0, xanchor: "left", y: 1, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)", font: { size: paper() ? 9 : 12 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("soft", 0.75), activecolor: colour("accent"), orientation: "h" },
    shapes: [], annotations: [],
  });
  const axis = (more) => ({
    gridcolor: colour("line"), linecolor: colour("line"), zerolinecolor: colour("line"), zeroline: false,
    automargin: false, fixedrange: false, ...more,
  });

  // Stalls, behind the lines of a chart over time, with an entry in the legend.
  const bands = (s, layout, traces) => {
    for (const b of s.bands) {
      const width = s.seconds / 400;
      layout.shapes.push({ type: "rect", layer: "below", xref: "x", yref: "paper", x0: b.from, x1: Math.max(b.to, b.from + width), y0: 0, y1: 1,
        fillcolor: colour("bad", 0.28), line: { width: 0 } });
    }
    if (s.bands.length) {
      traces.push({ x: [null], y: [null], type: "scatter", mode: "markers", name: "stall", hoverinfo: "skip", showlegend: true,
        marker: { symbol: "square", size: 11, color: colour("bad", 0.45) } });
    }
  };

  function rates(s, height) {
    const layout = base(height);
    const traces = [];
    for (const r of s.rates) {
      const x = places(r.iops, r.iops.mean.length);
      const line = { color: ink(r.name), width: 1.5 };
      if (r.iops.low.length) {
        const edge = { x, xaxis: "x", yaxis: "y", mode: "lines", line: { width: 0 }, showlegend: false, hoverinfo: "skip" };
        traces.push({ ...edge, y: r.iops.low });
        traces.push({ ...edge, y: r.iops.high, fill: "tonexty", fillcolor: ink(r.name, 0.18) });
      }
      const range = r.iops.low.length
        ? r.iops.mean.map((m, i) => `${digits(m)} (${digits(r.iops.low[i])} – ${digits(r.iops.high[i])})`)
        : r.iops.mean.map(digits);
      traces.push({ x, y: r.iops.mean, yaxis: "y", mode: "lines", line, name: r.name, legendgroup: r.name,
        text: range, hovertemplate: "%{text} IOPS" });
      traces.push({ x, y: r.mib.mean, yaxis: "y2", mode: "lines", line, name: r.name, legendgroup: r.name, showlegend: false,
        text: r.mib.mean.map(digits), hovertemplate: "%{text} MiB/s" });
    }
    for (const l of s.latency) {
      const x = places(l, l.p50.length);
      for (const [key, dash, alpha] of [["p50", "solid", 1], ["p99", "dash", 1], ["max", "dot", 0.75]]) {
        traces.push({ x, y: l[key], yaxis: "y3", mode: x.length < 3 ? "markers" : "lines", line: { color: ink(l.name, alpha), width: 1.5, dash },
          name: key, legendgroup: key, showlegend: false,
          text: l[key].map(time), hovertemplate: `${l.name} ${key} %{text}<extra></extra>` });
      }
    }
    // One entry for each kind of line, in the colour of text, whatever the directions are.
    for (const [key, dash] of [["p50", "solid"], ["p99", "dash"], ["max", "dot"]]) {
      traces.push({ x: [null], y: [null], yaxis: "y3", mode: "lines", line: { color: colour("soft"), width: 1.5, dash },
        name: `latency ${key}`, legendgroup: key, hoverinfo: "skip" });
    }
    layout.xaxis = axis({ range: [0, s.seconds], anchor: "y3", showgrid: false, unifiedhovertitle: { text: "%{x:.1f} s" }, ...seconds(s.seconds) });
    layout.yaxis = axis({ domain: [0.68, 1], rangemode: "tozero", title: { text: "IOPS" }, tickformat: "~s", nticks: paper() ? 3 : 0 });
    layout.yaxis2 = axis({ domain: [0.4, 0.62], rangemode: "tozero", title: { text: "MiB/s" }, tickformat: "~s", nticks: paper() ? 3 : 0 });
    layout.yaxis3 = axis({ domain: [0, 0.34], ...micros("Latency", s.latency.flatMap((l) => [...l.p50, ...l.p99, ...l.max])) });
    layout.hoversubplots = "axis";
    bands(s, layout, traces);
    for (const c of s.changes) {
      layout.shapes.push({ type: "line", xref: "x", yref: "paper", x0: c.at, x1: c.at, y0: 0, y1: 1,
        line: { color: colour("doubt"), width: 1, dash: "dash" } });
    }
    for (const c of s.changes.slice(0, 6)) {
      layout.annotations.push({ xref: "x", yref: "y domain", x: c.at, y: 0.06, xanchor: "left", showarrow: false,
        text: `${digits(c.before)} → ${digits(c.after)}`, font: { color: colour("doubt"), size: 11 }, bgcolor: colour("card", 0.85) });
    }
    return { traces, layout };
  }

  function percentiles(s, height) {
    const layout = base(height);
    const traces = [];
    let far = 1;
    for (const p of s.percentiles) {
      const dash = p.name.includes(" ") ? "dash" : "solid";
      const share = (n) => `${+(100 - 100 * 10 ** -n).toFixed(Math.max(0, Math.ceil(n) - 1))} %`;
      traces.push({ x: p.nines, y: p.us, mode: "lines", line: { color: ink(p.name), width: 2, dash }, name: p.name,
        text: p.nines.map((n, i) => `${share(n)} within ${time(p.us[i])}`), hovertemplate: `${p.name}: %{text}<extra></extra>` });
      far = Math.max(far, ...p.nines);
      if (p.max) {
        far = Math.max(far, p.max[0]);
        traces.push({ x: [p.max[0]], y: [p.max[1]], mode: "markers", marker: { symbol: "diamond", size: 8, color: ink(p.name) },
          name: `${p.name}, longest`, showlegend: false, text: [time(p.max[1])], hovertemplate: `${p.name}: longest %{text}<extra></extra>` });
      }
    }
    const ticks = [[0, "min"], [0.30103, "50 %"], [1, "90 %"], [2, "99 %"], [3, "99.9 %"], [4, "99.99 %"], [5, "99.999 %"], [6, "6 nines"], [7, "7 nines"], [8, "8 nines"], [9, "9 nines"]]
      .filter((t) => t[0] && t[0] <= far + 0.1);
    const shown = narrow() ? ticks.filter((t) => t[0] % 2 === 1) : ticks;
    layout.hovermode = "closest";
    layout.xaxis = axis({ range: [0, far + 0.15], tickvals: shown.map((t) => t[0]), ticktext: shown.map((t) => t[1]), tickangle: 0, title: { text: "Share of I/Os within" } });
    layout.margin.b = paper() ? 38 : 62;
    layout.yaxis = axis(micros("Latency", s.percentiles.flatMap((p) => [...p.us, ...(p.max ? [p.max[1]] : [])])));
    return { traces, layout };
  }

  function heat(s, height, index) {
    const h = s.heat[index];
    const layout = base(height);
    const rows = h.edges.length - 1;
    const z = Array.from({ length: rows }, () => new Array(h.columns.length).fill(null));
    const label = Array.from({ length: rows }, () => new Array(h.columns.length).fill(""));
    let most = 1;
    h.columns.forEach((column, x) => {
      const total = column.slice(1).reduce((a, b) => a + b, 0);
      column.slice(1).forEach((n, i) => {
        if (!n) return;
        const row = column[0] + i;
        z[row][x] = Math.log10(n);
        most = Math.max(most, z[row][x]);
        label[row][x] = `${n.toLocaleString("en-US")} I/Os, ${digits(n / total * 100)} %<br>${time(h.edges[row])} – ${time(h.edges[row + 1])}<br>from ${clock(x * h.step)}`;
      });
    });
    const ticks = [0, 1, 2, 3, 4, 5, 6, 7, 8].filter((t) => t <= most);
    layout.hovermode = "closest";
    layout.xaxis = axis({ range: [0, s.seconds], showgrid: false, ...seconds(s.seconds) });
    layout.yaxis = axis({ ...micros("Latency", h.edges), showgrid: false });
    const traces = [{ type: "heatmap", x: Array.from({ length: h.columns.length + 1 }, (_, i) => i * h.step), y: h.edges, z,
      text: label, hovertemplate: "%{text}<extra></extra>", colorscale: shades(), zmin: 0, zmax: most, hoverongaps: false, showscale: !narrow(),
      colorbar: { thickness: 10, outlinewidth: 0, len: 1, tickvals: ticks, ticktext: ticks.map((t) => (10 ** t).toLocaleString("en-US")), tickfont: { size: 11 } } }];
    bands(s, layout, traces);
    return { traces, layout };
  }

  // A chart of a course: an axis with marks of its own has only those.
  const scale = (a) => {
    if (a.is_latency) return micros(a.name, [], [1, 2, 5]);
    const own = a.marks.length ? { tickvals: a.marks.map((m) => m[0]), ticktext: a.marks.map((m) => m[1]) } : { tickformat: "~s", nticks: 6 };
    return { type: a.logarithmic ? "log" : "linear", rangemode: "tozero", title: { text: a.name, standoff: 10 }, ...own };
  };

  function chosen(c, height) {
    const layout = base(height);
    layout.hovermode = "closest";
    layout.margin.b = paper() ? 38 : 62;
    if (c.cells.length) {
      layout.margin.t = coarse || narrow() ? 84 : 34;
      layout.xaxis = axis({ type: "category", title: { text: c.x.name } });
      layout.yaxis = axis({ type: "category", title: { text: c.y.name } });
      const [x, y] = [c.x, c.y].map((a) => a.marks.map((m) => m[1]));
      return { layout, traces: [{ type: "heatmap", x, y, z: c.cells.map((row) => row.map((v) => v === null ? null : Math.log10(v))), xgap: 1, ygap: 1,
        text: c.cells.map((row) => row.map(time)), texttemplate: narrow() ? "" : "%{text}", hovertemplate: "%{x}, %{y}: %{text}<extra></extra>",
        colorscale: shades(), hoverongaps: false, showscale: false }] };
    }
    const traces = c.series.map((s) => ({
      x: s.points.map((p) => p.x), y: s.points.map((p) => p.y), name: text(s.name),
      mode: s.kind === "dashed" ? "lines" : s.kind === "dots" ? "markers" : "lines+markers+text",
      line: { color: colour(s.colour), width: 2, dash: s.kind === "dashed" ? "dash" : "solid" }, marker: { size: 8, color: colour(s.colour) },
      text: s.points.map((p) => p.beside), textposition: "top right",
      hovertext: s.points.map((p) => text(p.said)), hoverinfo: "text",
    }));
    layout.xaxis = axis(scale(c.x));
    layout.yaxis = axis(scale(c.y));
    return { traces, layout };
  }

  // The buttons are named one by one: plotly's own list has one that sends the data to its maker's server.
  const config = { responsive: true, displaylogo: false, displayModeBar: coarse ? true : "hover", doubleClick: "reset", plotlyServerURL: "",
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]] };
  const jobs = [];
  const add = (id, make) => {
    const place = document.getElementById(id);
    if (place) jobs.push(() => {
      const { traces, layout } = make(place.clientHeight || parseInt(place.style.height, 10));
      // What is not shown has no size to be drawn in.
      if (!place.clientWidth) return;
      return Plotly.react(place, traces, { ...layout, width: place.clientWidth }, config);
    });
  };
  course.forEach((c, i) => add(`course-${i}`, (h) => chosen(c, h)));
  for (const s of steps) {
    add(`${s.id}-rates`, (h) => rates(s, h));
    add(`${s.id}-percentiles`, (h) => percentiles(s, h));
    s.heat.forEach((_, i) => add(`${s.id}-heat-${i}`, (h) => heat(s, h, i)));
  }
  // One chart at a time in the order of the page, so that it can be read meanwhile; a newer round ends an older one.
  let round = 0;
  const draw = () => {
    const mine = ++round;
    const next = (i) => {
      if (mine !== round) return;
      if (i === jobs.length) { root.dataset.drawn = String(jobs.length); return; }
      jobs[i]();
      setTimeout(next, 0, i + 1);
    };
    next(0);
  };
  const say = () => { button.textContent = dark() ? "Light" : "Dark"; };
  root.classList.remove("plain");
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; say(); draw(); });
  system.addEventListener("change", () => { say(); draw(); });
  // Paper is light and narrow: the class gives every chart its size there, before it is drawn again.
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    root.classList.add("paper");
    round++;
    jobs.forEach((job) => job());
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before; else delete root.dataset.theme;
    root.classList.remove("paper");
    say();
    draw();
  });
  say();
  draw();
})();
