package query

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

//go:embed page/page.html
var pageTemplate string

//go:embed page/page.css
var pageStyle string

//go:embed page/page.js
var pageScript string

// A page is the data of the template. Its texts are printable.
type page struct {
	*Report
	Summary               ReportSummary
	Style                 template.CSS
	Script                template.JS
	StyleHash, ScriptHash string
	Sections              []pageSection
	Environments          []string
	Columns               []string
	Marks                 []pageMark
	Rows                  []pageRow
	Tree                  []*pageLayer
	WiringGraph           template.HTML
	WaveGraph             template.HTML
	Data                  *pageData
}

type pageSection struct {
	ID, Title string
	Count     int
}

// A pageMark is a kind of mark on cells, such as outdated.
type pageMark struct {
	ID, Sign, Name, Title string
	Count                 int
}

type pageRow struct {
	ReportCluster
	Href  string
	Cells []pageCell
}

type pageCell struct {
	Href, Version string
	Odd           bool // whether most clusters have another version
	Marks         []pageMark
}

type pageLayer struct {
	ReportLayer
	Href     string
	Bar      template.HTML
	Open     bool
	Children []*pageLayer
}

// HTML returns the page.
func (r *Report) HTML() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"count": diag.Count, "ids": idsText, "join": func(list []string) string { return strings.Join(list, ", ") }, "conditions": conditionsText,
	}).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	p := &page{
		Report: r, Summary: r.Summary(), Environments: r.environments(), Columns: r.ReleaseNames(), Data: r.data(), Tree: r.tree(),
		Style: template.CSS(pageStyle), Script: template.JS(pageScript), StyleHash: contentHash(pageStyle), ScriptHash: contentHash(pageScript),
		WiringGraph: r.wiringGraph(), WaveGraph: r.waveGraph(),
	}
	p.Marks = p.marks()
	p.Sections = []pageSection{
		{"matrix", "Matrix", 0},
		{"layers", "Layers", len(r.Layers)},
		{"values", "Values", len(r.Values)},
		{"wiring", "Wiring", len(r.Wiring)},
		{"waves", "Waves", len(r.Waves)},
		{"waivers", "Waivers", len(r.Waivers)},
		{"images", "Images", len(r.Images)},
		{"crds", "CRDs", len(r.CRDs)},
	}
	if len(r.Waves) == 0 {
		p.Sections = slices.DeleteFunc(p.Sections, func(s pageSection) bool { return s.ID == "waves" })
	}
	p.addRows()
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}

// contentHash returns the hash of inline content for a Content-Security-Policy.
func contentHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// marks returns the marks that the report can have, with the number of cells.
func (p *page) marks() []pageMark {
	out := []pageMark{
		{"differs", "≠", "differs", "differs from the other clusters of its environment", p.Summary.Differs},
		{"outdated", "↑", "outdated", "a newer version is known", p.Summary.Outdated},
		{"waivers", "◇", "waivers", "has waivers", p.Summary.Waived},
	}
	if p.Against != "" {
		out = append(out, pageMark{"changed", "±", "changed", "changed since " + p.Against, p.Summary.Changed})
	}
	if p.Live {
		out = append(out, pageMark{"live", "✕", "live", "drifted in the running cluster, or not healthy", p.Summary.Found})
	}
	return out
}

// marksOf returns the marks of a cell.
func (p *page) marksOf(cell ReportCell) []pageMark {
	applies := map[string]bool{
		"differs": cell.Differs > 0, "outdated": cell.Newest != "", "waivers": cell.Waivers > 0, "changed": len(cell.Changes) > 0, "live": len(cell.Findings) > 0,
	}
	return slices.DeleteFunc(slices.Clone(p.Marks), func(m pageMark) bool { return !applies[m.ID] })
}

// addRows adds the rows of the matrix.
func (p *page) addRows() {
	common := p.commonVersions()
	for _, c := range p.Clusters {
		row := pageRow{ReportCluster: c, Href: "#cluster=" + fragment(c.ID)}
		for _, name := range p.Columns {
			cell := p.cell(c.ID, name)
			if cell == nil {
				row.Cells = append(row.Cells, pageCell{})
				continue
			}
			row.Cells = append(row.Cells, pageCell{
				Href: "#release=" + fragment(name) + "&cluster=" + fragment(c.ID), Version: cmp.Or(cell.Version, "missing"),
				Odd: cell.Version != common[name], Marks: p.marksOf(*cell),
			})
		}
		p.Rows = append(p.Rows, row)
	}
}

// commonVersions returns the version that most clusters have, by release.
func (r *Report) commonVersions() map[string]string {
	counts, out := map[[2]string]int{}, map[string]string{}
	for _, c := range r.Clusters {
		for _, cell := range c.Releases {
			key := [2]string{cell.Release, cell.Version}
			if counts[key]++; counts[key] > counts[[2]string{cell.Release, out[cell.Release]}] {
				out[cell.Release] = cell.Version
			}
		}
	}
	return out
}

// fragment escapes a value in the fragment of an address, except for slashes.
func fragment(s string) string {
	return strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(s))
}

// Text returns the state of a running cluster in a few words, for the page's template too.
func (l *ReportLiveState) Text() string {
	var out []string
	switch {
	case l.Revision > 0:
		out = append(out, fmt.Sprintf("r%d", l.Revision))
	case l.Checked:
		out = append(out, "never applied")
	}
	for _, state := range []struct {
		holds bool
		text  string
	}{
		{l.Behind, "behind"}, {l.Drifted > 0, fmt.Sprintf("%d drifted", l.Drifted)}, {l.Unhealthy > 0, fmt.Sprintf("%d unhealthy", l.Unhealthy)}, {!l.Checked, "not checked"},
	} {
		if state.holds {
			out = append(out, state.text)
		}
	}
	return strings.Join(out, ", ")
}

// Class returns the style of the state for the page's template.
func (l *ReportLiveState) Class() string {
	switch {
	case l.Drifted+l.Unhealthy > 0 || !l.Checked:
		return "bad"
	case l.Behind:
		return "due"
	}
	return "good"
}

// idsText returns a few IDs and the number of the others.
func idsText(ids []string) string { return diag.JoinFew(ids, 2) }

// conditionsText returns the conditions for the start of the next wave.
func conditionsText(w ReportWave) string {
	var out []string
	if w.AtATime > 0 {
		out = append(out, diag.Count(w.AtATime, "cluster at a time", "clusters at a time"))
	}
	if w.Soak != "" {
		out = append(out, "healthy for "+w.Soak)
	}
	if len(w.Verify) > 0 {
		out = append(out, "checks: "+strings.Join(w.Verify, ", "))
	}
	if w.Approve != "" {
		out = append(out, "approval by "+w.Approve)
	}
	return cmp.Or(strings.Join(out, "; "), "-")
}

// tree returns the layers as a tree.
func (r *Report) tree() []*pageLayer {
	most := 1
	for _, l := range r.Layers {
		most = max(most, l.Sets)
	}
	const width = 160
	var roots []*pageLayer
	byDir := map[string]*pageLayer{}
	for _, l := range r.Layers {
		node := &pageLayer{ReportLayer: l, Open: l.Clusters <= 12 || strings.Count(l.Dir, "/") < 1}
		scaled := func(n int) int { return (n*width + most - 1) / most }
		node.Bar = template.HTML(fmt.Sprintf(`<svg width="%d" height="10" viewBox="0 0 %d 10" preserveAspectRatio="none" aria-hidden="true"><rect class="all" width="%d" height="10"/><rect class="over" width="%d" height="10"/></svg>`,
			width, width, scaled(l.Sets), scaled(l.Overrides)))
		if l.Cluster != "" {
			node.Href = "#layers&cluster=" + fragment(l.Cluster)
		}
		byDir[l.Dir] = node
		if above := byDir[l.Parent]; above != nil {
			above.Children = append(above.Children, node)
		} else {
			roots = append(roots, node)
		}
	}
	return roots
}
