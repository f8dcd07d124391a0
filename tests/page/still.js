// Asked by tests/page/check from around a page that may run no script: what must be read there is there and visible.
"use strict";
document.getElementById("page").addEventListener("load", (event) => {
  const page = event.target.contentDocument;
  const wrong = [];
  const seen = (e) => e && e.getClientRects().length && e.textContent.trim();
  if (!page.documentElement.classList.contains("plain")) wrong.push("a script ran although none may");
  // The page of a course has charts of its points in place of its steps.
  const results = page.querySelector(".course") ? ["pre.columns"] : ["#results", "td.main", ".step h2", ".said"];
  for (const what of ["h1", ".status", "#repeat", "pre", "dl", ...results]) {
    const all = [...page.querySelectorAll(what)];
    if (!all.length || !all.every(seen)) wrong.push(`${what} is missing or hidden`);
  }
  if ([...page.querySelectorAll(".plot")].some((p) => p.getClientRects().length)) wrong.push("an empty chart takes room");
  // Where a promise was given, the verdict stands there without a script.
  for (const claim of page.querySelectorAll(".claim")) {
    for (const what of [".badge", ".figure", ".flag", ".gauge svg[aria-label]"]) {
      const e = claim.querySelector(what);
      if (!e || !e.getClientRects().length) wrong.push(`${what} of a claim is missing or hidden`);
    }
  }
  if (!page.getElementById("theme").hidden) wrong.push("a button that does nothing is shown");
  if (page.documentElement.scrollWidth > 390) wrong.push(`overflow: ${page.documentElement.scrollWidth} px`);
  const tables = [...page.querySelectorAll("table")].filter(seen).length;
  document.getElementById("out").textContent = `still ${tables} tables ` + wrong.map((w) => `WRONG ${w}|`).join(" ");
});
