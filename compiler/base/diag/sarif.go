package diag

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

const (
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifVersion = "2.1.0"

	// sourceRoot is the conventional base ID for the top of the repository. The log
	// does not resolve it, because the path differs between machines.
	sourceRoot = "%SRCROOT%"

	// sarifRule is the rule of faults without a code.
	sarifRule = "fault"

	// sarifError is the level of all faults: there are no warnings.
	sarifError = "error"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation        `json:"invocations"`
	BaseIDs     map[string]sarifArtifact `json:"originalUriBaseIds"`
	ColumnKind  string                   `json:"columnKind"`
	Results     []sarifFinding           `json:"results"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	URI     string      `json:"informationUri"`
	Version string      `json:"version"`
	Rules   []sarifKind `json:"rules"`
}

type sarifKind struct {
	ID          string         `json:"id"`
	Summary     sarifMessage   `json:"shortDescription"`
	Description *sarifMessage  `json:"fullDescription,omitempty"`
	Help        *sarifHelp     `json:"help,omitempty"`
	HelpURI     string         `json:"helpUri,omitempty"`
	Defaults    *sarifDefaults `json:"defaultConfiguration,omitempty"`
}

type sarifHelp struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown"`
}

type sarifDefaults struct {
	Level string `json:"level"`
}

type sarifInvocation struct {
	Successful    bool           `json:"executionSuccessful"`
	Notifications []sarifFinding `json:"toolExecutionNotifications"`
}

// A sarifFinding is a result, or a notification when it has no rule and locations.
type sarifFinding struct {
	RuleID     string          `json:"ruleId,omitempty"`
	Level      string          `json:"level"`
	Message    sarifMessage    `json:"message"`
	Locations  []sarifLocation `json:"locations,omitempty"`
	Related    []sarifLocation `json:"relatedLocations,omitempty"`
	Properties sarifProperties `json:"properties"`
	Rule       *sarifReference `json:"associatedRule,omitempty"` // of a notification
}

// A sarifReference refers to a rule.
type sarifReference struct {
	ID string `json:"id"`
}

type sarifProperties struct {
	Path     string   `json:"path,omitempty"`
	Hint     string   `json:"hint,omitempty"`
	Clusters []string `json:"clusters"`
	Example  string   `json:"example,omitempty"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	ID       int `json:"id,omitempty"`
	Physical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	} `json:"physicalLocation"`
	Message *sarifMessage `json:"message,omitempty"`
}

type sarifArtifact struct {
	URI         string        `json:"uri,omitempty"`
	BaseID      string        `json:"uriBaseId,omitempty"`
	Description *sarifMessage `json:"description,omitempty"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn,omitempty"`
}

// writeSARIF writes a log with one run. Faults with a position are results. Others,
// such as an unknown flag, are notifications, because code scanners reject logs with
// results that have no location.
func (r *Report) writeSARIF(w io.Writer) error {
	run := sarifRun{
		ColumnKind: "utf16CodeUnits",
		BaseIDs:    map[string]sarifArtifact{sourceRoot: {Description: &sarifMessage{"The top of the repository."}}},
		Results:    []sarifFinding{},
	}
	run.Tool.Driver = sarifDriver{
		Name: "fleetc", URI: "https://github.com/fleetc/fleetc", Version: r.Version,
		Rules: sarifRules(All(r.Err)),
	}
	notifications := []sarifFinding{}
	for _, d := range All(r.Err) {
		found := r.sarifFinding(d, cmp.Or(string(d.Code), sarifRule))
		if len(d.At) == 0 {
			if d.Code != "" {
				found.Rule = &sarifReference{string(d.Code)}
			}
			notifications = append(notifications, found)
		} else {
			run.Results = append(run.Results, found)
		}
	}
	for _, d := range r.Findings {
		run.Results = append(run.Results, r.sarifFinding(d, r.Rule.ID))
	}
	if r.Rule.ID != "" {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifKind{ID: r.Rule.ID, Summary: sarifMessage{r.Rule.Summary}})
	}
	run.Invocations = []sarifInvocation{{len(notifications) == 0, notifications}}
	return encode(w, sarifLog{sarifSchema, sarifVersion, []sarifRun{run}})
}

// sarifRules returns the rules of the codes that occur, and that of faults without one.
func sarifRules(faults List) []sarifKind {
	rules := []sarifKind{{ID: sarifRule, Summary: sarifMessage{"Something is wrong in the fleet."}}}
	codes := map[Code]bool{}
	for _, d := range faults {
		codes[d.Code] = true
	}
	delete(codes, "")
	for _, c := range slices.Sorted(maps.Keys(codes)) {
		rule := sarifKind{ID: string(c), Summary: sarifMessage{c.Title() + "."}, Defaults: &sarifDefaults{sarifError}}
		if page := c.Page(); page != "" {
			rule.Description, rule.Help, rule.HelpURI = &sarifMessage{c.summary()}, &sarifHelp{c.Text(), page}, c.URL()
		}
		rules = append(rules, rule)
	}
	return rules
}

func (r *Report) sarifFinding(d *Diag, rule string) sarifFinding {
	without := *d
	without.At, without.Facts = nil, nil
	message := sarifText(strings.TrimSuffix(without.text(nil), "\n"))
	f := sarifFinding{
		Level: sarifError, Properties: sarifProperties{d.Path, d.Hint, append([]string{}, d.Clusters...), d.Example},
	}
	for i, p := range d.Places() {
		l := r.sarifLocation(p)
		if i == 0 {
			f.RuleID, f.Locations = rule, []sarifLocation{l}
			continue
		}
		// Viewers show a related location only where the message links to it.
		message += fmt.Sprintf("\n    and [here](%d)", i)
		l.ID, l.Message = i, &sarifMessage{"and here"}
		f.Related = append(f.Related, l)
	}
	f.Message.Text = message
	return f
}

func (r *Report) sarifLocation(p Pos) sarifLocation {
	var l sarifLocation
	if name, ok := r.Files.Repository(p.File); ok {
		l.Physical.Artifact = sarifArtifact{URI: (&url.URL{Path: name}).String(), BaseID: sourceRoot}
	} else {
		l.Physical.Artifact.URI = fileURI(p.File)
	}
	if p.Line > 0 {
		l.Physical.Region = &sarifRegion{p.Line, r.column(p)}
	}
	return l
}

// fileURI returns the URI of an absolute path, including Windows paths with a drive.
// Relative paths stay relative.
func fileURI(file string) string {
	name := filepath.ToSlash(file)
	if !filepath.IsAbs(file) {
		return (&url.URL{Path: name}).String()
	}
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

// sarifText escapes text for a SARIF message, where {0} is an argument and
// [text](target) a link. Braces have an escape; links have none, so a space breaks
// them.
var sarifText = strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace
