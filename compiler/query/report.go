package query

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
)

// A Report holds the facts of some clusters of a fleet.
type Report struct {
	Fleet       string             `json:"fleet"` // path of the module
	Against     string             `json:"against,omitempty"`
	Live        bool               `json:"live"` // whether the running clusters were read
	Clusters    []ReportCluster    `json:"clusters"`
	Differences []ReportDifference `json:"differences"` // between clusters of one environment
	Waivers     []ReportWaiver     `json:"waivers"`
	Layers      []ReportLayer      `json:"layers"` // in the order of directories
	Values      []ReportValue      `json:"values"`
	Wiring      []ReportWire       `json:"wiring"`
	Waves       []ReportWave       `json:"waves"`
	Images      []ReportImage      `json:"images"`
	CRDs        []ReportCRD        `json:"crds"`
	Deleted     []string           `json:"deleted,omitempty"` // clusters that exist only in the state of Against

	links linker
}

// A ReportPlace is a line of the fleet's repository.
type ReportPlace struct {
	File string `json:"file"` // relative to the root of the fleet
	Line int    `json:"line"`
	Link string `json:"link,omitempty"` // see [ReportRequest.LinkTemplate]
}

// A ReportCluster is a row of the matrix.
type ReportCluster struct {
	ID          string           `json:"id"`
	Environment string           `json:"environment"` // the layer, or the directory of the cluster
	Kubernetes  string           `json:"kubernetes"`
	Wave        string           `json:"wave,omitempty"` // of the rollout
	Stages      []string         `json:"stages"`         // in their order
	Place       *ReportPlace     `json:"place,omitempty"`
	Releases    []ReportCell     `json:"releases"` // sorted by name
	Live        *ReportLiveState `json:"live,omitempty"`
	Created     bool             `json:"created,omitempty"` // whether the state of Against lacks the cluster
	Changes     []ReportChange   `json:"changes,omitempty"` // of releases that the cluster has only in the state of Against
}

// A ReportCell is a release in a cluster.
type ReportCell struct {
	Release   string              `json:"release"`
	Missing   bool                `json:"missing,omitempty"` // most other clusters of the environment have the release, and this one does not
	Version   string              `json:"version,omitempty"` // of the chart; the kind of source without a chart
	Source    string              `json:"source,omitempty"`  // chart, file or directory
	PinnedAt  *ReportPlace        `json:"pinnedAt,omitempty"`
	Namespace string              `json:"namespace,omitempty"`
	Stage     string              `json:"stage,omitempty"`
	Level     int                 `json:"level,omitempty"`
	Depends   []string            `json:"depends,omitempty"`
	Newest    string              `json:"newest,omitempty"`  // a newer version than Version; empty if none is known
	Differs   int                 `json:"differs,omitempty"` // number of Differences in which the cluster differs from its environment
	Waivers   int                 `json:"waivers,omitempty"` // number of Waivers
	Changes   []ReportChange      `json:"changes,omitempty"` // since the state of Against
	Findings  []ReportLiveFinding `json:"findings,omitempty"`
}

// A ReportDifference is a field of a release whose values differ between the clusters of one
// environment.
type ReportDifference struct {
	Environment string          `json:"environment"`
	Release     string          `json:"release"`
	Part        string          `json:"part"` // release, chart, value, image or object
	Path        string          `json:"path,omitempty"`
	Variants    []ReportVariant `json:"variants"` // of most clusters first
}

// A ReportVariant is one of the values of a difference.
type ReportVariant struct {
	Value    string        `json:"value"` // in one line; empty for objects
	Clusters []string      `json:"clusters"`
	Places   []ReportPlace `json:"places,omitempty"`
	Differs  bool          `json:"differs,omitempty"` // whether these clusters differ from their environment
}

// A ReportWaiver is an exception that a line of the fleet makes for releases of some clusters.
type ReportWaiver struct {
	Kind     WaiverKind   `json:"kind"`
	Release  string       `json:"release"`
	Name     string       `json:"name"` // of the policy and its waiver, or the path of the value or object
	Reason   string       `json:"reason,omitempty"`
	Until    string       `json:"until,omitempty"` // the last day; empty when it has no end
	Place    *ReportPlace `json:"place,omitempty"`
	Clusters []string     `json:"clusters"`
}

// A WaiverKind says which check a waiver concerns.
type WaiverKind string

// The kinds of waivers.
const (
	PolicyWaiver    WaiverKind = "policy"
	TypeWaiver      WaiverKind = "type"      // a value whose type in the chart is wrong
	PlaintextWaiver WaiverKind = "plaintext" // a Secret that is exported in plain text
	SecretWaiver    WaiverKind = "secret"    // an object beside Secrets that may have secret values
	KeyWaiver       WaiverKind = "keys"      // a chart whose objects may have keys twice
	RandomWaiver    WaiverKind = "random"    // a field that differs in every rendering
)

// A ReportLayer is a directory of CUE files.
type ReportLayer struct {
	Dir        string       `json:"dir"`
	Name       string       `json:"name"`
	Parent     string       `json:"parent,omitempty"` // directory of the layer above
	Cluster    string       `json:"cluster,omitempty"`
	Place      *ReportPlace `json:"place,omitempty"` // its first file
	Clusters   int          `json:"clusters"`        // below it
	Sets       int          `json:"sets"`            // values that it sets
	Overrides  int          `json:"overrides"`       // of these, values that override a layer above
	Overridden int          `json:"overridden"`      // of these, values that a layer below overrides somewhere
}

// A ReportValue is a value of a release with all lines that set it.
type ReportValue struct {
	Release string            `json:"release"`
	Path    string            `json:"path"`
	Lines   []ReportValueLine `json:"lines"` // from the root to the clusters
}

// A ReportValueLine is a line that sets a value.
type ReportValueLine struct {
	Layer      string       `json:"layer,omitempty"` // directory; empty for a line outside of the layers
	Value      string       `json:"value"`           // in one line
	Place      *ReportPlace `json:"place,omitempty"`
	Effective  []string     `json:"effective"`  // clusters in which it is the value
	Overridden []string     `json:"overridden"` // clusters in which another line overrides it
}

// A ReportWire is a dependency of a release on another one.
type ReportWire struct {
	From  string       `json:"from"`
	To    string       `json:"to"`
	Kind  WireKind     `json:"kind"`
	Path  string       `json:"path,omitempty"` // the referenced field
	Place *ReportPlace `json:"place,omitempty"`
}

// A WireKind says how a release depends on another one.
type WireKind string

// The kinds of dependencies.
const (
	ReferenceWire WireKind = "reference" // it uses a value of the other one
	OrderWire     WireKind = "depends"   // it is applied after the other one
)

// A ReportWave is a step of the rollout.
type ReportWave struct {
	Name     string       `json:"name"`
	Clusters []string     `json:"clusters"`
	AtATime  int          `json:"atATime,omitempty"` // clusters at a time; 0 for all
	Soak     string       `json:"soak,omitempty"`
	Verify   []string     `json:"verify,omitempty"`
	Approve  string       `json:"approve,omitempty"` // whom to ask
	Place    *ReportPlace `json:"place,omitempty"`
}

// An ReportImage is a container image with the releases that use it.
type ReportImage struct {
	Repository string       `json:"repository"`
	Version    string       `json:"version"` // tag and digest
	Releases   []string     `json:"releases"`
	Clusters   []string     `json:"clusters"`
	Place      *ReportPlace `json:"place,omitempty"` // of the source of the first release
}

// A ReportCRD is a definition of a custom resource with its versions.
type ReportCRD struct {
	Name     string       `json:"name"`
	Kind     string       `json:"kind"`
	Versions []string     `json:"versions"` // served, as the object lists them
	Storage  string       `json:"storage"`
	Release  string       `json:"release"`
	Clusters []string     `json:"clusters"`
	Place    *ReportPlace `json:"place,omitempty"`
}

// A ReportChange is a change of an object since the state of Against.
type ReportChange struct {
	Action  string   `json:"action"`
	Object  string   `json:"object"`
	Release string   `json:"release"`
	Fields  []string `json:"fields,omitempty"` // paths
}

// A ReportLiveState is the state of a running cluster.
type ReportLiveState struct {
	Revision  int      `json:"revision,omitempty"`
	Commit    string   `json:"commit,omitempty"`
	Behind    bool     `json:"behind"`    // it runs another bundle than the fleet's
	Checked   bool     `json:"checked"`   // everything could be checked
	Drifted   int      `json:"drifted"`   // objects that differ from the bundle
	Unhealthy int      `json:"unhealthy"` // objects that are not ready
	Faults    []string `json:"faults,omitempty"`

	Findings []ReportLiveFinding `json:"findings,omitempty"` // about objects of releases that the fleet no longer has
}

// A ReportLiveFinding is an object of a running cluster that differs from the bundle.
type ReportLiveFinding struct {
	Object string   `json:"object"`
	Reason string   `json:"reason"`
	Fields []string `json:"fields,omitempty"` // paths
	By     []string `json:"by,omitempty"`     // managers of the fields
}

// CheckReportFile returns a fault for a file that a report must not replace: one in .git or among
// the files of the fleet, and a directory, device or pipe.
func CheckReportFile(c *compiler.Compiler, file string) error {
	if err := deliver.CheckOutput(c, file); err != nil {
		for _, d := range diag.All(err) {
			d.Hint = "write the report to another file, such as report.html"
		}
		return err
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	kind := "not a regular file"
	if info.IsDir() {
		kind = "a directory"
	}
	return &diag.Diag{Code: diag.CodeFileSystem, Msg: diag.Visible(file, diag.MaxText) + " is " + kind, Hint: "name the file, such as report.html"}
}

// WriteReportFile writes the page to a file. It replaces the file when all bytes are written. A
// file that exists keeps its permissions, and a symbolic link keeps its target.
func WriteReportFile(file string, r *Report) error {
	text, err := r.HTML()
	if err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	err = fleet.Replacement{File: file, Temp: ".report-" + rand.Text()}.Write(text)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &diag.Diag{
			Code:  diag.CodeFileSystem,
			Msg:   "cannot write the report: " + e.Err.Error(),
			Hint:  "name a file in a directory that exists and that you can write to",
			Cause: err,
		}
	}
	return err
}

// A linker makes links to lines of the repository.
type linker struct{ template string }

// newLinker checks a template. It accepts only http and https, because URLs of other schemes
// can run code.
func newLinker(template string) (linker, error) {
	if template == "" {
		return linker{}, nil
	}
	const file = "file.invalid"
	u, err := url.Parse(strings.NewReplacer("{file}", file, "{line}", "1").Replace(template))
	if err == nil && u.User != nil {
		return linker{}, &diag.Diag{
			Code: diag.CodeURLCredentials,
			Msg:  "the link template has a user or password, which each link would show",
			Hint: "remove the part before the @ of its host",
		}
	}
	if err != nil || strings.Contains(u.Host, file) || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || !strings.Contains(template, "{file}") {
		return linker{}, &diag.Diag{
			Code: diag.CodeFlagValue,
			Msg:  "invalid link template " + diag.Visible(template, diag.MaxText),
			Hint: "write it as https://github.com/example/infra/blob/main/{file}#L{line}",
		}
	}
	return linker{template}, nil
}

// link returns the URL of a line.
func (l linker) link(file string, line int) string {
	if l.template == "" {
		return ""
	}
	parts := strings.Split(file, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.NewReplacer("{file}", strings.Join(parts, "/"), "{line}", strconv.Itoa(max(1, line))).Replace(l.template)
}

// place returns the place of a position; nil for one outside of the fleet's files.
func (l linker) place(p diag.Pos) *ReportPlace {
	isPin := strings.HasPrefix(p.File, "environments/charts/") // generated, and in the repository
	if !p.IsValid() || diag.IsTypeFile(p.File) && !isPin || filepath.IsAbs(p.File) || strings.HasPrefix(p.File, "../") {
		return nil
	}
	return &ReportPlace{p.File, p.Line, l.link(p.File, p.Line)}
}
