package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// shop is a fleet with an example of everything that a report shows.
func shop() map[string]string {
	files := map[string]string{
		"cue.mod/module.cue":      "module: \"example.com/shop@v0\"\nlanguage: version: \"v0.17.0\"\n",
		"charts/app/Chart.yaml":   "apiVersion: v2\nname: app\nversion: 2.4.1\n",
		"charts/app/values.yaml":  "replicas: 1\nhost: \"\"\ndatabase: \"\"\nimage:\n  tag: \"7.1\"\n",
		"charts/data/Chart.yaml":  "apiVersion: v2\nname: data\nversion: 16.2.0\n",
		"charts/data/values.yaml": "replicas: 1\nstorage: 10Gi\nimage:\n  tag: \"17.4\"\n",
		"environments/fleet.cue": `package fleet

import "github.com/fleetc/fleetc/schema"

cluster?:     schema.#Cluster
environment?: string
releases:     schema.#Releases
stages: schema.#Stages & [{name: "network"}, {name: "data"}, {name: "apps"}]
rollout: schema.#Rollout & {waves: [
	{name: "development", clusters: environments: ["dev"]},
	{name: "canary", clusters: ids: ["prod/eu-1"], soak: "1h"},
	{name: "production", others: true, parallel: 2, approve: "the platform team"},
]}
policies: schema.#Policies
policies: replicas: {
	message: "a Deployment needs two replicas"
	match: kinds: ["Deployment"]
	object: spec: replicas: >=2
}

releases: ingress: {namespace: "ingress", stage: "network", chart: path: "charts/app", defaults: root: replicas: 2}
releases: certs: {namespace: "certs", stage: "network", chart: path: "charts/app", defaults: root: replicas: 2}
releases: postgres: {namespace: "data", stage: "data", chart: path: "charts/data", defaults: root: replicas: 2}
releases: cache: {namespace: "data", stage: "data", chart: path: "charts/data", defaults: root: {replicas: 2, storage: "1Gi"}}
releases: shop: {
	namespace: "shop"
	stage:     "apps"
	depends: postgres: true
	chart: path: "charts/app"
	values: {
		host:     "shop.\(cluster.name).example.com"
		database: "postgres.\(releases.postgres.namespace):\(releases.postgres.values.replicas)"
	}
	defaults: root: replicas: 2
}
releases: search: {
	namespace: "shop"
	stage:     "apps"
	chart: path: "charts/app"
	values: database: "cache.\(releases.cache.namespace)"
	defaults: root: replicas: 2
}
`,
		"environments/dev/env.cue":           "package fleet\n\nenvironment: \"dev\"\ncluster: kubernetes: \"1.36\"\n",
		"environments/prod/env.cue":          "package fleet\n\nenvironment: \"prod\"\ncluster: kubernetes: *\"1.35\" | string\nreleases: shop: defaults: prod: replicas: 6\nreleases: postgres: defaults: prod: storage: \"200Gi\"\n",
		"environments/prod/us-2/cluster.cue": "package fleet\n\ncluster: {name: \"us-2\", kubernetes: \"1.34\"}\nreleases: shop: defaults: \"us-2\": {replicas: 12, image: tag: \"7.2\"}\nreleases: postgres: defaults: \"us-2\": storage: \"500Gi\"\n",
	}
	for _, id := range []string{"dev/local", "dev/ci", "prod/eu-1", "prod/eu-2", "prod/us-1"} {
		files["environments/"+id+"/cluster.cue"] = fmt.Sprintf("package fleet\n\ncluster: name: %q\n", id[strings.Index(id, "/")+1:])
	}
	files["environments/dev/local/cluster.cue"] += `releases: shop: defaults: local: replicas: 1
policies: replicas: waivers: local: {
	match: releases: ["shop"]
	reason: "one node is enough for a try"
	until:  "2027-03-31"
}
`
	deployment := `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      containers:
      - name: main
        image: registry.example.com/{{ .Chart.Name }}:{{ .Values.image.tag }}
`
	files["charts/app/templates/a.yaml"] = deployment + "        env:\n        - {name: HOST, value: {{ .Values.host | quote }}}\n        - {name: DATABASE, value: {{ .Values.database | quote }}}\n"
	files["charts/data/templates/a.yaml"] = deployment + "        env:\n        - {name: STORAGE, value: {{ .Values.storage | quote }}}\n"
	return files
}

const (
	forge     = "https://forge.example/shop/blob/main/{file}#L{line}"
	shownRows = `document.querySelectorAll("#matrix tbody tr:not([hidden])").length`
	focus     = `document.activeElement.closest("tr")?.cells[0].textContent.trim() + " " + document.activeElement.getAttribute("href")`
)

// The matrix can be searched, filtered and sorted; its state is in the URL.
func TestFilters(t *testing.T) {
	b := open(t, report(t, write(t, shop()), "--link-template", forge), 1400, 900)
	b.wants(shownRows, "6")
	b.wants(`document.getElementById("status").textContent`, "6 clusters")
	b.search("q", "prod us")
	b.wants(shownRows, "2")
	b.wants("location.hash", "#q=prod%20us")
	b.search("q", "shop")
	b.wants(shownRows, "6")
	b.wants(`document.querySelectorAll("#matrix thead th.r:not([hidden])").length`, "1")
	b.search("q", "16.2")
	b.wants(`document.querySelectorAll("#matrix td.hit").length`, "12")
	b.search("q", "nothing has this")
	b.wants(shownRows, "0")
	b.search("q", "")
	b.do(chromedp.Click(`[data-mark=differs]`, chromedp.ByQuery))
	b.wants(`[...document.querySelectorAll("#matrix tbody tr:not([hidden])")].map((r) => r.cells[0].textContent.trim()).join()`, "dev/local,prod/us-2")
	b.wants(`document.querySelector("[data-mark=differs]").getAttribute("aria-pressed")`, "true")
	b.do(chromedp.Click(`[data-mark=differs]`, chromedp.ByQuery), chromedp.Click(`[data-mark=waivers]`, chromedp.ByQuery))
	b.wants(shownRows, "1")
	b.do(chromedp.Click(`[data-mark=waivers]`, chromedp.ByQuery), chromedp.SetValue("#env", "dev", chromedp.ByQuery))
	b.text(`document.getElementById("env").dispatchEvent(new Event("change"))`)
	b.wants(shownRows, "2")
	b.do(chromedp.Click(`[data-sort=kube]`, chromedp.ByQuery), chromedp.Click(`[data-sort=kube]`, chromedp.ByQuery))
	b.wants("location.hash", "#env=dev&sort=-kube")
	b.wants(`document.querySelector("[aria-sort=descending]").textContent.trim()`, "Kubernetes")
	b.wants(`document.querySelector("#matrix tbody").lastElementChild.cells[0].textContent.trim()`, "prod/us-2")
}

// A URL opens a cell, with the reasons and links to lines.
func TestLinks(t *testing.T) {
	address := report(t, write(t, shop()), "--link-template", forge)
	b := open(t, address+"#release=shop&cluster=prod/us-2", 1280, 720)
	b.wants(`document.getElementById("panel-title").innerText.replace(/\s+/, " ")`, "shop prod/us-2")
	body := b.text(`document.getElementById("panel-body").innerText`)
	for _, want := range []string{"2.4.1", "replicas\nhere\n12 environments/prod/us-2/cluster.cue:4\n3 clusters\n6 environments/prod/env.cue:5", "image.tag", "postgres", "Values"} {
		if !strings.Contains(body, want) {
			t.Errorf("the details lack %q:\n%s", want, body)
		}
	}
	b.wants(`[...document.querySelectorAll("#panel a")].some((a) => a.href === "https://forge.example/shop/blob/main/environments/prod/us-2/cluster.cue#L4")`, "true")
	b.picture("report-release.png")
	b.text(`location.hash = "#cluster=prod/eu-1"`)
	b.do(chromedp.WaitVisible("#panel", chromedp.ByQuery))
	b.wants(`document.querySelector("#panel-title small").textContent`, "Cluster")
	b.text(`location.hash = "#values&in=shop"`)
	b.do(chromedp.WaitNotVisible("#panel", chromedp.ByQuery))
	b.wants(`[...document.querySelectorAll("#values tr")].find((r) => r.cells[0].textContent === "replicas").cells[1].innerText.replace(/\s+/g, " ")`,
		"2 in 1 root environments/fleet.cue:34 1 in 1 dev/local environments/dev/local/cluster.cue:4 6 in 3 prod environments/prod/env.cue:5 12 in 1 prod/us-2 environments/prod/us-2/cluster.cue:4")
	b.do(chromedp.Click(`nav [data-view=wiring]`, chromedp.ByQuery), chromedp.WaitVisible("#s-wiring", chromedp.ByQuery))
	b.wants(`document.querySelectorAll("#s-wiring path.ref").length + " " + document.querySelectorAll("#s-wiring path.dep").length`, "2 1")
	b.picture("report-wiring.png")
	b.text(`location.hash = "#release=%3Cscript%3E&cluster=%"`) // no cell
	b.wants(`document.getElementById("panel").hidden`, "true")
}

// The keyboard reaches the search, all cells and the details.
func TestKeyboard(t *testing.T) {
	b := open(t, report(t, write(t, shop())), 1400, 900)
	b.do(input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithText("/"), input.DispatchKeyEvent(input.KeyUp).WithKey("/"))
	b.wants("document.activeElement.id", "q")
	b.text(`document.querySelector("#matrix tbody a").focus()`)
	b.press(kb.ArrowDown, kb.ArrowRight, kb.ArrowRight, kb.ArrowLeft, kb.ArrowDown, kb.ArrowUp)
	b.wants(focus, "dev/local #release=cache&cluster=dev/local")
	b.press(kb.End)
	b.wants(focus, "dev/local #release=shop&cluster=dev/local")
	b.press(kb.Enter)
	b.do(chromedp.WaitVisible("#panel", chromedp.ByQuery))
	b.wants("document.activeElement.id", "panel-title")
	b.wants("location.hash", "#release=shop&cluster=dev/local")
	b.press(kb.Escape)
	b.wants(`document.getElementById("panel").hidden`, "true")
	b.wants(focus, "dev/local #release=shop&cluster=dev/local")
	b.wants(`document.querySelectorAll('#matrix tbody a[tabindex="0"]').length`, "1")
}

// axe-core finds no problem in any section, light and dark, wide and narrow; print shows all
// sections.
func TestAccessible(t *testing.T) {
	address := report(t, write(t, shop()), "--link-template", forge)
	for _, width := range []int{1400, 400} {
		b := open(t, address, width, 900)
		for _, dark := range []bool{false, true}[:1+width/1000] { // colours do not depend on the width
			b.dark(dark)
			for _, view := range []string{"matrix", "layers", "values&in=shop", "wiring", "waves", "waivers", "images", "crds", "release=shop&cluster=prod/us-2", "cluster=prod/us-2", "release=postgres", "only=differs&q=prod"} {
				b.text(fmt.Sprintf("location.hash = %q", "#"+view))
				b.do(chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil))
				b.accessible(fmt.Sprintf("%s, %d pixels, dark %t", view, width, dark))
				if width == 1400 && dark && strings.HasPrefix(view, "values") {
					b.picture("report-values.png")
				}
			}
		}
		b.wants(`document.documentElement.scrollWidth <= innerWidth`, "true")
		b.do(emulation.SetEmulatedMedia().WithMedia("print"))
		b.wants(`[...document.querySelectorAll("[data-section]")].filter((s) => getComputedStyle(s).display === "none").map((s) => s.id).join()`, "s-values")
	}
}

// Hostile names are shown as text.
func TestHostile(t *testing.T) {
	files := shop()
	hostile := "<script>document.title = \\\"hacked\\\"</script><img src=x onerror=alert(1)>\u202e" + strings.Repeat("x", 200)
	files["environments/prod/eu-1/hostile.cue"] = fmt.Sprintf("package fleet\n\nreleases: shop: values: host: \"%[1]s\"\nreleases: shop: plaintext: \"Secret/a\": \"%[1]s\"\n", hostile)
	files["environments/fleet.cue"] = strings.Replace(files["environments/fleet.cue"], `host:     "shop.\(cluster.name).example.com"`, "host: string", 1)
	files["environments/fleet.cue"] = strings.Replace(files["environments/fleet.cue"], "the platform team", hostile, 1)
	files["charts/app/templates/b.yaml"] = "{{ if .Values.host }}\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: b}\n{{ end }}\n"
	for _, id := range []string{"dev/local", "dev/ci", "prod/eu-2", "prod/us-1", "prod/us-2"} {
		files["environments/"+id+"/host.cue"] = "package fleet\n\nreleases: shop: values: host: \"\"\n"
	}
	b := open(t, report(t, write(t, files)), 1400, 900)
	for _, view := range []string{"release=shop&cluster=prod/eu-1", "values&in=shop", "waivers", "waves"} {
		b.text(fmt.Sprintf("location.hash = %q", "#"+view))
		b.do(chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil))
		b.wants("document.title", "example.com/shop: fleet report")
		b.wants(`document.querySelectorAll("main script, main img, #panel script, #panel img").length`, "0")
		if b.text(`document.body.innerText.includes("<script>document.title")`) != "true" {
			t.Errorf("%s does not show the text", view)
		}
		b.wants(`document.body.innerText.includes("\u202e")`, "false")
		b.wants(`document.documentElement.scrollWidth <= innerWidth`, "true")
	}
}

// The page of 200 clusters with 12 releases is small; the log has the times of the browser.
func TestLarge(t *testing.T) {
	files := map[string]string{
		"cue.mod/module.cue": "module: \"example.com/large@v0\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/fleet.cue": `package fleet

import "github.com/fleetc/fleetc/schema"

cluster?:     schema.#Cluster & {kubernetes: "1.36"}
environment?: string
releases:     schema.#Releases
`,
	}
	for i := range 12 {
		files["environments/fleet.cue"] += fmt.Sprintf(`releases: "release-%d": {
	namespace: "n%[1]d"
	objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a", data: host: values.host, data: size: values.size}
	values: {host: "\(cluster.name).example.com", size: string}
	defaults: root: size: "small"
}
`, i)
	}
	for i := range 200 {
		env := []string{"dev", "staging", "prod", "edge"}[i%4]
		files["environments/"+env+"/env.cue"] = fmt.Sprintf("package fleet\n\nenvironment: %q\n", env)
		text := fmt.Sprintf("package fleet\n\ncluster: name: \"c%d\"\n", i)
		if i%3 == 0 {
			text += fmt.Sprintf("releases: \"release-%d\": defaults: \"c%d\": size: \"large-%d\"\n", i%12, i, i%5)
		}
		files[fmt.Sprintf("environments/%s/c%d/cluster.cue", env, i)] = text
	}
	address := report(t, write(t, files), "--link-template", forge)
	info, err := os.Stat(strings.TrimPrefix(address, "file://"))
	if err != nil || info.Size() > 3<<20 {
		t.Errorf("the page has %d bytes, %v", info.Size(), err)
	}
	b := open(t, address, 1400, 900)
	b.wants(shownRows, "200")
	b.search("q", "prod release-3")
	b.wants(shownRows, "50")
	b.search("q", "")
	t.Logf("%d bytes, first paint after %s ms, filter %s ms", info.Size(),
		b.text(`Math.round(performance.getEntriesByName("first-contentful-paint")[0]?.startTime)`), // NaN before the paint
		b.text(`["prod", "release-3", "large", "prod release-1", ""].map((text) => {
			const q = document.getElementById("q"), from = performance.now();
			q.value = text;
			q.dispatchEvent(new Event("input"));
			document.body.offsetHeight;
			return Math.round(performance.now() - from);
		})`))
}
