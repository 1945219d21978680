"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const text = (i) => data.texts[i];
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];

  // el returns an element. Children are nodes or texts, never markup.
  const el = (name, attributes, ...children) => {
    const e = document.createElement(name);
    for (const [k, v] of Object.entries(attributes || {})) if (v) e.setAttribute(k, v);
    e.append(...children.filter((c) => c || c === 0));
    return e;
  };

  // Sets of clusters are texts such as "0-3,7".
  const sets = new Map();
  const clusters = (i) => {
    if (!sets.has(i)) {
      const out = new Set();
      for (const part of text(i).split(",")) {
        if (!part) continue;
        const [from, to] = part.split("-").map(Number);
        for (let n = from; n <= (to ?? from); n++) out.add(n);
      }
      sets.set(i, out);
    }
    return sets.get(i);
  };
  const place = (p) => {
    if (!p) return "";
    const name = text(p[0]) + ":" + p[1];
    if (!data.link) return el("span", { class: "place" }, name);
    const file = text(p[0]).split("/").map(encodeURIComponent).join("/");
    return el("a", { class: "place", rel: "noreferrer", href: data.link.replaceAll("{file}", () => file).replaceAll("{line}", p[1]) }, name);
  };

  // The state of the page is in its address.
  const views = all("[data-section]").map((s) => s.dataset.section);
  const encode = (v) => encodeURIComponent(v).replaceAll("%2F", "/");
  let state = {};
  const parse = () => {
    const out = { view: "matrix" };
    for (const part of location.hash.slice(1).split("&")) {
      const at = part.indexOf("=");
      try {
        if (at < 0) out.view = views.includes(part) ? part : out.view;
        else out[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
      } catch { /* not an address of this page */ }
    }
    return out;
  };
  const address = (change) => {
    const next = { ...state, ...change };
    const parts = next.view === "matrix" ? [] : [next.view];
    for (const k of ["release", "cluster", "q", "env", "only", "sort", "in"]) if (next[k]) parts.push(k + "=" + encode(next[k]));
    return "#" + parts.join("&");
  };
  const go = (change, replace) => {
    const to = address(change);
    if (to === location.hash) return;
    history[replace ? "replaceState" : "pushState"](null, "", to);
    show();
  };

  // The matrix.
  const table = $("matrix");
  const body = table.tBodies[0];
  const heads = all("thead th", table);
  const fixed = heads.length - data.releases.length;
  const rows = all("tr", body).map((row, i) => {
    const cells = [...row.cells];
    const own = cells.slice(0, fixed);
    return {
      row, i, own,
      text: own.map((c) => c.textContent).join(" ").toLowerCase(),
      cells: cells.slice(fixed).map((td) => {
        const a = td.querySelector("a");
        return { td, a, text: a ? (a.firstChild?.textContent || "").trim().toLowerCase() : "", marks: a ? all(".m", a).map((m) => m.className.slice(2)) : [] };
      }),
    };
  });
  const columns = data.releases.map((r) => text(r).toLowerCase());
  const set = (e, name, on) => { if (e.classList.contains(name) !== on) e.classList.toggle(name, on); };
  const hide = (e, on) => { if (e.hidden !== on) e.hidden = on; };
  const filter = () => {
    const terms = (state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const only = (state.only || "").split(",").filter(Boolean);
    // A term that only names releases selects columns; others select rows.
    const isColumn = (t) => columns.some((c) => c.includes(t)) && !rows.some((r) => r.text.includes(t));
    const names = terms.filter(isColumn);
    const rest = terms.filter((t) => !names.includes(t));
    const shown = columns.map((c) => !names.length || names.some((t) => c.includes(t)));
    heads.slice(fixed).forEach((h, i) => hide(h, !shown[i]));
    let count = 0, hits = 0;
    for (const r of rows) {
      let visible = !state.env || data.clusters[r.i].env === data.environments.indexOf(state.env);
      visible &&= rest.every((t) => r.text.includes(t) || r.cells.some((c, i) => shown[i] && c.text.includes(t)));
      let found = 0;
      r.cells.forEach((c, i) => {
        hide(c.td, !shown[i]);
        const marked = only.length > 0 && only.some((m) => c.marks.includes(m));
        const hit = shown[i] && !!c.a && (marked || (!only.length && rest.some((t) => c.text.includes(t) && !r.text.includes(t))));
        set(c.td, "hit", hit);
        found += hit ? 1 : 0;
      });
      visible &&= !only.length || found > 0;
      hide(r.row, !visible);
      count += visible ? 1 : 0;
      hits += visible ? found : 0;
    }
    const noun = rows.length === 1 ? "cluster" : "clusters";
    $("status").textContent = (count === rows.length ? count : count + " of " + rows.length) + " " + noun + (hits ? ", " + hits + (hits === 1 ? " release" : " releases") : "");
    for (const b of all("[data-mark]")) b.setAttribute("aria-pressed", String(only.includes(b.dataset.mark)));
  };
  const collator = new Intl.Collator("en", { numeric: true });
  let sorted = "";
  const sort = () => {
    if (sorted === (state.sort || "")) return;
    sorted = state.sort || "";
    const down = sorted.startsWith("-");
    const key = down ? sorted.slice(1) : sorted;
    const at = heads.findIndex((h) => h.firstElementChild.dataset.sort === key);
    heads.forEach((h, i) => h.setAttribute("aria-sort", i === at ? (down ? "descending" : "ascending") : "none"));
    const value = (r) => (at < fixed ? r.own[at].textContent : r.cells[at - fixed].text);
    const order = [...rows];
    if (at >= 0) order.sort((a, b) => (down ? -1 : 1) * collator.compare(value(a), value(b)) || a.i - b.i);
    body.append(...order.map((r) => r.row));
  };

  // The details of a cell, a cluster or a release.
  const panel = $("panel");
  let opener = null;
  const fact = (name, value) => (value ? [el("dt", null, name), el("dd", null, value)] : []);
  const list = (title, items) => (items.length ? [el("h3", null, title), el("ul", { class: "facts" }, ...items)] : []);
  const marksOf = (c) => all(".m", c.a).map((m) => m.cloneNode(true));
  const cellOf = (release, cluster) => data.cells.find((c) => c.r === release && c.c === cluster);
  const variantOf = (d, cluster) => d.v.find((v) => clusters(v.c).has(cluster));
  const spread = (n) => n + (n === 1 ? " cluster" : " clusters");
  const differences = (release, cluster) => {
    const env = data.clusters[cluster].env;
    const differing = (d) => variantOf(d, cluster)?.d;
    return data.differences
      .filter((d) => d.e === env && d.r === release && variantOf(d, cluster) && (d.p !== 4 || differing(d)))
      .sort((a, b) => (differing(b) ? 1 : 0) - (differing(a) ? 1 : 0))
      .map((d) => {
        const own = variantOf(d, cluster);
        const name = ["release", "chart", "value", "image", "object"][d.p];
        const li = el("li", null, el("span", { class: "path" }, (name === "value" ? "" : name + " ") + text(d.n)), differing(d) ? "" : el("small", null, "varies in the environment"));
        if (name === "object") {
          li.append(el("small", null, text(own.t) === "-" ? "only in the other clusters" : "differs from the others"), ...(own.l || []).map(place));
          return li;
        }
        const pair = el("div", { class: "pair" }, el("span", null, "here"), el("span", null, el("code", null, text(own.t)), " ", ...(own.l || []).flatMap((p) => [place(p), " "])));
        for (const v of d.v.filter((v) => v !== own).slice(0, 3)) {
          pair.append(el("span", null, spread(clusters(v.c).size)), el("span", null, el("code", null, text(v.t)), " ", ...(v.l || []).slice(0, 2).flatMap((p) => [place(p), " "])));
        }
        if (d.v.length > 4) pair.append(el("span", null, ""), el("span", null, "and " + (d.v.length - 4) + " other values"));
        li.append(pair);
        return li;
      });
  };
  const waivers = (release, cluster) => data.waivers.filter((w) => w.r === release && clusters(w.c).has(cluster)).map((w) =>
    el("li", null, el("span", { class: "path" }, text(w.k) + " ", el("code", null, text(w.n))), " ", place(w.l),
      el("small", null, text(w.w) + (text(w.u) ? ". Expires " + text(w.u) : w.k && text(w.k) === "policy" ? ". Never expires" : ""))));
  // A chain has the lines of a value, with the values of one line beside each other.
  const chain = (value, cluster) => {
    const lines = value.l.filter((l) => cluster === undefined || clusters(l.e).has(cluster) || clusters(l.o).has(cluster));
    const groups = new Map();
    for (const l of lines) {
      const key = l.y + "/" + (l.l || "");
      groups.set(key, [...(groups.get(key) || []), l]);
    }
    const one = (l) => {
      const effective = clusters(l.e).size;
      const here = cluster === undefined ? effective > 0 : clusters(l.e).has(cluster);
      const code = el("code", null, text(l.t));
      return el("span", null, here ? el("b", null, code) : el("del", null, code),
        cluster === undefined && here && effective < data.clusters.length ? el("span", { class: "n" }, " in " + effective) : "", " ");
    };
    const few = 3;
    const above = (a, b) => a === "root" || a === "imported" || b.startsWith(a + "/");
    const layer = (g) => text(g[0].y);
    return el("ul", { class: "chain" }, ...[...groups.values()].slice(0, 8).map((g, i, list) =>
      el("li", { class: i > 0 && !above(layer(list[i - 1]), layer(g)) ? "side" : "" }, ...g.slice(0, few).map(one), g.length > few ? el("span", { class: "n" }, (g.length - few) + " other values") : "", el("small", null, text(g[0].y), " ", place(g[0].l)))),
      groups.size > 8 ? el("li", null, el("span", { class: "n" }, (groups.size - 8) + " more lines")) : "");
  };
  const values = (release, cluster) => data.values.filter((v) => v.r === release && v.l.some((l) => clusters(l.e).has(cluster) || clusters(l.o).has(cluster)))
    .map((v) => el("li", null, el("span", { class: "path" }, text(v.p)), chain(v, cluster)));
  const changes = (all) => list("Changed since " + data.against, findings(all));
  const findings = (all) => (all || []).map((f) => el("li", null, el("span", { class: "path" }, text(f[0]) + " " + text(f[1])), el("small", null, text(f[2]))));
  const showCell = (release, cluster) => {
    const c = cellOf(release, cluster);
    $("panel-title").replaceChildren(text(data.releases[release]), el("small", null, text(data.clusters[cluster].id)));
    const differs = differences(release, cluster);
    const title = (c?.df ? "Differs from others in " : "Varies in ") + text(data.clusters[cluster].envName);
    $("panel-body").replaceChildren(
      el("dl", null, ...(c?.m ? fact("Version", "not installed") : [
        ...fact("Version", text(c.v)), ...(c.n ? fact("Newer", text(c.n)) : []), ...fact("Source", text(c.s)), ...fact("Pinned by", place(c.l)),
        ...fact("Namespace", text(c.ns)), ...fact("Stage", text(c.st)), ...(c.d ? fact("Applied after", text(c.d)) : [])])),
      ...list("Running cluster", findings(c?.f)),
      ...changes(c?.x),
      ...list(title, differs), ...list("Waivers", waivers(release, cluster)), ...list("Values", values(release, cluster)));
  };
  const showCluster = (cluster) => {
    const c = data.clusters[cluster];
    $("panel-title").replaceChildren(text(c.id), el("small", null, "Cluster"));
    $("panel-body").replaceChildren(
      el("dl", null, ...fact("Environment", text(c.envName)), ...fact("Kubernetes", text(c.k)), ...fact("Wave", text(c.w)), ...fact("Set by", place(c.l)), ...fact("Running", text(c.run))),
      ...changes(c.x), ...list("Not in the fleet", findings(c.f)), ...list("Not checked", (c.faults || []).map((f) => el("li", null, text(f)))),
      ...list("Releases", rows[cluster].cells.flatMap((cell, i) => (cell.a ? [el("li", null, el("a", { href: address({ release: text(data.releases[i]) }) }, text(data.releases[i])), " ", el("code", null, cell.text), ...marksOf(cell))] : []))));
  };
  const showRelease = (release) => {
    const versions = new Map();
    for (const c of data.cells) if (c.r === release && !c.m) versions.set(text(c.v), [...(versions.get(text(c.v)) || []), c.c]);
    const name = text(data.releases[release]);
    const wires = (from, to) => data.wires.filter((w) => w[from] === release).map((w) => el("li", null, el("a", { href: address({ release: text(data.releases[w[to]]) }) }, text(data.releases[w[to]])), " ", el("code", null, text(w[2])), " ", place(w[3])));
    $("panel-title").replaceChildren(name, el("small", null, "Release"));
    $("panel-body").replaceChildren(
      ...list("Versions", [...versions].sort((a, b) => b[1].length - a[1].length).map(([v, ids]) => el("li", null, el("span", { class: "path" }, v), " ", el("span", { class: "n" }, spread(ids.length)),
        el("small", null, ids.slice(0, 12).map((i) => text(data.clusters[i].id)).join(", ") + (ids.length > 12 ? " and " + (ids.length - 12) + " more" : ""))))),
      ...list("Uses values of", wires(0, 1)), ...list("Used by", wires(1, 0)));
  };
  const indexOf = (among, name) => among.findIndex((i) => text(i) === name);
  const ids = data.clusters.map((c) => c.id);
  let current = "";
  const showPanel = () => {
    const release = state.release === undefined ? -1 : indexOf(data.releases, state.release);
    const cluster = state.cluster === undefined ? -1 : indexOf(ids, state.cluster);
    const next = release + "/" + cluster;
    if (next === current) return;
    current = next;
    for (const a of all("[aria-current]", body)) a.removeAttribute("aria-current");
    const cell = release >= 0 && cluster >= 0 ? rows[cluster].cells[release].a : null;
    if (release < 0 && cluster < 0 || (release >= 0 && cluster >= 0 && !cell)) {
      panel.hidden = true;
      return;
    }
    if (cell) showCell(release, cluster);
    else if (cluster >= 0) showCluster(cluster);
    else showRelease(release);
    cell?.setAttribute("aria-current", "true");
    if (panel.hidden) opener = document.activeElement === document.body ? cell : document.activeElement;
    panel.hidden = false;
    panel.scrollTop = 0;
    $("panel-title").focus({ preventScroll: true });
    cell?.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const close = () => {
    const at = state.release !== undefined && state.cluster !== undefined ? all("[aria-current]", body)[0] : opener;
    go({ release: undefined, cluster: undefined });
    at?.focus();
  };

  // The values of a release.
  const most = 200;
  let listed = "";
  const showValues = () => {
    const release = Math.max(0, indexOf(data.releases, state.in));
    const search = $("vq").value.toLowerCase();
    if (listed === release + "/" + search) return;
    listed = release + "/" + search;
    $("vr").selectedIndex = release;
    const found = data.values.filter((v) => v.r === release && text(v.p).toLowerCase().includes(search));
    const head = el("thead", null, el("tr", null, el("th", { scope: "col" }, "Value"), el("th", { scope: "col" }, "From the root to the clusters")));
    const lines = found.slice(0, most).map((v) => {
      return el("tr", null, el("th", { scope: "row" }, el("code", null, text(v.p))), el("td", null, chain(v)));
    });
    $("values").replaceChildren(lines.length ? el("table", { class: "list" }, head, el("tbody", null, ...lines)) : el("p", { class: "empty" }, "No value matches."),
      found.length > most ? el("p", { class: "empty" }, "The first " + most + " of " + found.length + " values.") : "");
  };

  const show = () => {
    state = parse();
    for (const s of all("[data-section]")) hide(s, s.dataset.section !== state.view);
    for (const a of all("nav a")) {
      if (a.dataset.view === state.view) a.setAttribute("aria-current", "page");
      else a.removeAttribute("aria-current");
    }
    if ($("q").value !== (state.q || "")) $("q").value = state.q || "";
    $("env").value = state.env || "";
    filter();
    sort();
    if (state.view === "values") showValues();
    showPanel();
  };

  // The keyboard. One cell of the matrix is in the order of Tab; arrows move from it.
  const links = all("a", body);
  for (const a of links) a.tabIndex = -1;
  if (links.length) links[0].tabIndex = 0;
  body.addEventListener("focusin", (e) => {
    const a = e.target.closest("a");
    if (!a) return;
    const before = body.querySelector('a[tabindex="0"]');
    if (before) before.tabIndex = -1;
    a.tabIndex = 0;
  });
  const visibleLinks = (row) => all("a", row).filter((a) => !a.closest("[hidden]"));
  const move = (a, key) => {
    const row = a.closest("tr");
    const line = visibleLinks(row);
    const at = line.indexOf(a);
    const cell = a.closest("td,th").cellIndex;
    const step = (from, way) => {
      for (let r = from[way]; r; r = r[way]) if (!r.hidden && r.cells[cell].querySelector("a")) return r.cells[cell].querySelector("a");
      return null;
    };
    return { ArrowLeft: () => line[at - 1], ArrowRight: () => line[at + 1], Home: () => line[0], End: () => line.at(-1), ArrowUp: () => step(row, "previousElementSibling"), ArrowDown: () => step(row, "nextElementSibling") }[key]?.();
  };
  body.addEventListener("keydown", (e) => {
    const a = e.target.closest("a");
    if (!a || e.ctrlKey || e.metaKey || e.altKey) return;
    const to = move(a, e.key);
    if (to) {
      e.preventDefault();
      to.focus();
    }
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && !panel.hidden) close();
    if (e.key === "/" && !e.target.closest("input,select")) {
      e.preventDefault();
      go({ view: "matrix", release: undefined, cluster: undefined });
      $("q").focus();
    }
  });

  body.addEventListener("click", (e) => {
    const a = e.target.closest("a");
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    opener = a;
    const row = rows.find((r) => r.row === a.closest("tr"));
    const at = a.closest("td,th").cellIndex - fixed;
    go({ cluster: text(ids[row.i]), release: at < 0 ? undefined : text(data.releases[at]) });
  });
  for (const b of all("[data-sort]")) {
    b.addEventListener("click", () => go({ sort: state.sort === b.dataset.sort ? "-" + b.dataset.sort : state.sort === "-" + b.dataset.sort ? "" : b.dataset.sort }, true));
  }
  for (const b of all("[data-mark]")) {
    b.addEventListener("click", () => {
      const only = (state.only || "").split(",").filter(Boolean);
      go({ only: (only.includes(b.dataset.mark) ? only.filter((m) => m !== b.dataset.mark) : [...only, b.dataset.mark]).join(",") }, true);
    });
  }
  for (const a of all("nav a")) {
    a.addEventListener("click", (e) => {
      e.preventDefault();
      go({ view: a.dataset.view, release: undefined, cluster: undefined });
    });
  }
  $("q").addEventListener("input", () => go({ q: $("q").value }, true));
  $("env").addEventListener("change", () => go({ env: $("env").value }, true));
  $("vr").addEventListener("change", () => go({ in: text(data.releases[$("vr").selectedIndex]) }, true));
  $("vq").addEventListener("input", showValues);
  $("close").addEventListener("click", close);
  addEventListener("hashchange", show);
  addEventListener("popstate", show);
  for (const e of all(".controls,.keys")) e.hidden = false;
  show();
})();
