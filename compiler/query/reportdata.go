package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// pageData is the data of the page's script. It stores each text once, and refers to texts,
// clusters and releases by their index.
type pageData struct {
	Link         string           `json:"link"`
	Against      string           `json:"against"`
	Texts        []string         `json:"texts"`
	Environments []string         `json:"environments"`
	Releases     []int            `json:"releases"`
	Clusters     []dataCluster    `json:"clusters"`
	Cells        []dataCell       `json:"cells"`
	Differences  []dataDifference `json:"differences"`
	Waivers      []dataWaiver     `json:"waivers"`
	Values       []dataValue      `json:"values"`
	Wires        [][]any          `json:"wires"`

	texts    map[string]int
	clusters map[string]int
	releases map[string]int
}

// A dataPlace is the text index of a file and a line; nil for none.
type dataPlace []int

type dataCluster struct {
	ID          int       `json:"id"`
	Environment int       `json:"env"`
	EnvName     int       `json:"envName"`
	Kubernetes  int       `json:"k"`
	Wave        int       `json:"w"`
	Running     int       `json:"run"`
	Faults      []int     `json:"faults,omitempty"`
	Place       dataPlace `json:"l,omitempty"`
	Changes     [][3]int  `json:"x,omitempty"`
	Findings    [][3]int  `json:"f,omitempty"`
}

type dataCell struct {
	Cluster   int       `json:"c"`
	Release   int       `json:"r"`
	Missing   bool      `json:"m,omitempty"`
	Differs   bool      `json:"df,omitempty"`
	Version   int       `json:"v"`
	Newest    int       `json:"n,omitempty"`
	Source    int       `json:"s"`
	Place     dataPlace `json:"l,omitempty"`
	Namespace int       `json:"ns"`
	Stage     int       `json:"st"`
	Depends   int       `json:"d,omitempty"`
	Changes   [][3]int  `json:"x,omitempty"`
	Findings  [][3]int  `json:"f,omitempty"`
}

type dataDifference struct {
	Environment int           `json:"e"`
	Release     int           `json:"r"`
	Part        int           `json:"p"`
	Path        int           `json:"n"`
	Variants    []dataVariant `json:"v"`
}

type dataVariant struct {
	Value    int         `json:"t"`
	Clusters int         `json:"c"`
	Places   []dataPlace `json:"l,omitempty"`
	Differs  bool        `json:"d,omitempty"`
}

type dataWaiver struct {
	Kind     int       `json:"k"`
	Release  int       `json:"r"`
	Name     int       `json:"n"`
	Reason   int       `json:"w"`
	Until    int       `json:"u"`
	Clusters int       `json:"c"`
	Place    dataPlace `json:"l,omitempty"`
}

type dataValue struct {
	Release int        `json:"r"`
	Path    int        `json:"p"`
	Lines   []dataLine `json:"l"`
}

type dataLine struct {
	Layer      int       `json:"y"`
	Value      int       `json:"t"`
	Place      dataPlace `json:"l,omitempty"`
	Effective  int       `json:"e"`
	Overridden int       `json:"o"`
}

// parts are the parts of differences, in the order of the page's script.
var parts = []string{"release", "chart", "value", "image", "object"}

// data returns the data of the page.
func (r *Report) data() *pageData {
	d := &pageData{
		Link: r.links.template, Against: r.Against, Environments: r.environments(),
		Releases: []int{}, Clusters: []dataCluster{}, Cells: []dataCell{}, Differences: []dataDifference{},
		Waivers: []dataWaiver{}, Values: []dataValue{}, Wires: [][]any{},
		texts: map[string]int{}, clusters: map[string]int{}, releases: map[string]int{},
	}
	d.text("") // index 0, which JSON leaves out
	for i, name := range r.ReleaseNames() {
		d.releases[name] = i
		d.Releases = append(d.Releases, d.text(name))
	}
	for i, c := range r.Clusters {
		d.clusters[c.ID] = i
		d.addCluster(c)
	}
	for _, diff := range r.Differences {
		out := dataDifference{
			Environment: slices.Index(d.Environments, diff.Environment), Release: d.releases[diff.Release],
			Part: slices.Index(parts, diff.Part), Path: d.text(diff.Path),
		}
		for _, v := range diff.Variants {
			variant := dataVariant{Value: d.text(v.Value), Clusters: d.set(v.Clusters), Differs: v.Differs}
			const most = 3
			for _, p := range v.Places[:min(most, len(v.Places))] {
				variant.Places = append(variant.Places, d.place(&p))
			}
			out.Variants = append(out.Variants, variant)
		}
		d.Differences = append(d.Differences, out)
	}
	for _, w := range r.Waivers {
		d.Waivers = append(d.Waivers, dataWaiver{
			d.text(string(w.Kind)), d.releases[w.Release], d.text(w.Name), d.text(w.Reason), d.text(w.Until), d.set(w.Clusters), d.place(w.Place),
		})
	}
	for _, v := range r.Values {
		out := dataValue{Release: d.releases[v.Release], Path: d.text(v.Path)}
		for _, l := range v.Lines {
			out.Lines = append(out.Lines, dataLine{d.text(layerTitle(l.Layer)), d.text(l.Value), d.place(l.Place), d.set(l.Effective), d.set(l.Overridden)})
		}
		d.Values = append(d.Values, out)
	}
	for _, w := range r.Wiring {
		d.Wires = append(d.Wires, []any{d.releases[w.From], d.releases[w.To], d.text(w.Path), d.place(w.Place)})
	}
	return d
}

// addCluster adds a cluster with its cells.
func (d *pageData) addCluster(c ReportCluster) {
	environment := c.Environment
	out := dataCluster{
		ID: d.text(c.ID), Environment: slices.Index(d.Environments, environment), EnvName: d.text(environment),
		Kubernetes: d.text(c.Kubernetes), Wave: d.text(c.Wave), Place: d.place(c.Place),
	}
	if c.Live != nil {
		out.Running = d.text(c.Live.Text())
		for _, fault := range c.Live.Faults {
			out.Faults = append(out.Faults, d.text(fault))
		}
		out.Findings = d.findings(c.Live.Findings)
	}
	out.Changes = d.changes(c.Changes)
	d.Clusters = append(d.Clusters, out)
	for _, cell := range c.Releases {
		one := dataCell{
			Cluster: d.clusters[c.ID], Release: d.releases[cell.Release], Missing: cell.Missing, Differs: cell.Differs > 0, Version: d.text(cell.Version), Newest: d.text(cell.Newest),
			Source: d.text(cell.Source), Place: d.place(cell.PinnedAt), Namespace: d.text(cell.Namespace), Stage: d.text(cell.Stage),
			Depends: d.text(strings.Join(cell.Depends, ", ")),
		}
		one.Changes = d.changes(cell.Changes)
		one.Findings = d.findings(cell.Findings)
		d.Cells = append(d.Cells, one)
	}
}

// changes returns the texts of changes.
func (d *pageData) changes(all []ReportChange) [][3]int {
	var out [][3]int
	for _, c := range all {
		out = append(out, [3]int{d.text(c.Action), d.text(c.Object), d.text(strings.Join(c.Fields, ", "))})
	}
	return out
}

// findings returns the texts of findings.
func (d *pageData) findings(all []ReportLiveFinding) [][3]int {
	var out [][3]int
	for _, f := range all {
		details := strings.Join(f.Fields, ", ")
		if len(f.By) > 0 {
			details += ", set by " + strings.Join(f.By, ", ")
		}
		out = append(out, [3]int{d.text(f.Reason), d.text(f.Object), d.text(details)})
	}
	return out
}

// text returns the index of a text.
func (d *pageData) text(s string) int {
	i, ok := d.texts[s]
	if !ok {
		i = len(d.Texts)
		d.texts[s], d.Texts = i, append(d.Texts, s)
	}
	return i
}

func (d *pageData) place(p *ReportPlace) dataPlace {
	if p == nil {
		return nil
	}
	return dataPlace{d.text(p.File), p.Line}
}

// set returns the text of a set of clusters, such as 0-3,7.
func (d *pageData) set(ids []string) int {
	indexes := diag.Each(ids, func(id string) int { return d.clusters[id] })
	slices.Sort(indexes)
	var ranges []string
	for i := 0; i < len(indexes); {
		j := i
		for j+1 < len(indexes) && indexes[j+1] <= indexes[j]+1 {
			j++
		}
		text := strconv.Itoa(indexes[i])
		if j > i {
			text += "-" + strconv.Itoa(indexes[j])
		}
		ranges = append(ranges, text)
		i = j + 1
	}
	return d.text(strings.Join(ranges, ","))
}

// environments returns the names of the environments, sorted.
func (r *Report) environments() []string {
	return diag.Distinct(diag.Each(r.Clusters, func(c ReportCluster) string { return c.Environment }))
}

// layerTitle returns the name of a layer in a directory.
func layerTitle(dir string) string {
	switch name, ok := strings.CutPrefix(dir, "environments/"); {
	case ok:
		return name
	case dir == "":
		return "imported"
	}
	return "root"
}
