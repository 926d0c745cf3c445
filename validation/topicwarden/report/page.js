(() => {
  const all = (query) => [...document.querySelectorAll(query)];
  const form = document.getElementById("filter"), status = document.getElementById("filter-status");
  const words = form.elements.words, verdict = form.elements.verdict;
  const topics = new Map(all("[data-search]").map((e) => [e.dataset.topic, [e.dataset.search, e.dataset.verdict]]));
  const parts = all("[data-topic]"), sections = all("main > section").filter((e) => e.querySelector("[data-topic]"));
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let e = target; e; e = e.parentElement) {
      if (e.localName === "details") e.open = true;
      e.hidden = false;
      if (e.dataset.topic) parts.filter((p) => p.dataset.topic === e.dataset.topic).forEach((p) => { p.hidden = false; });
    }
    target.scrollIntoView();
  };
  const filter = () => {
    const terms = words.value.toLowerCase().match(/"[^"]*"|\S+/g) || [], worst = verdict.value;
    const shown = new Set();
    for (const [topic, [text, is]] of topics)
      if ((!worst || is === worst) && terms.every((word) => text.includes(word.replace(/^"(.*)"$/, "|$1|")))) shown.add(topic);
    for (const part of parts) part.hidden = !shown.has(part.dataset.topic);
    for (const section of sections) section.hidden = !section.querySelector("[data-topic]:not([hidden])");
    const count = shown.size + " of " + topics.size + " topics shown in all sections below";
    status.textContent = shown.size === topics.size ? "" : (shown.size ? "" : "No topic matches: ") + count;
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  addEventListener("hashchange", open);
  for (const link of all("a[data-words]"))
    link.addEventListener("click", () => { words.value = '"' + link.dataset.words + '"'; verdict.value = ""; filter(); });
  if (location.protocol !== "file:") {
    // A page of a watch is loaded again after each audit: what was typed and where the reader was remain.
    const before = JSON.parse(sessionStorage.getItem(location.pathname) || "{}");
    words.value = before.words || "";
    verdict.value = before.verdict || "";
    filter();
    if (before.y && !location.hash) addEventListener("load", () => scrollTo(0, before.y));
    addEventListener("pagehide", () => sessionStorage.setItem(
      location.pathname, JSON.stringify({ words: words.value, verdict: verdict.value, y: scrollY })));
  }
  open();
})();
