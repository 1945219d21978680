package deliver

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A junitSuites is the document of JUnit's format that CI systems read.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteDriftJUnit writes the report in JUnit's format: a suite for each cluster with a case
// for each release, which fails when objects of the release drifted. A cluster that could
// not be checked has a case with an error.
func WriteDriftJUnit(w io.Writer, r *DriftReport) error {
	out := junitSuites{Name: "fleetc drift"}
	for _, c := range r.Clusters {
		s := c.junit()
		out.Tests += s.Tests
		out.Failures += s.Failures
		out.Errors += s.Errors
		out.Suites = append(out.Suites, s)
	}
	text, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}

// junit returns the suite of a cluster.
func (c *DriftCluster) junit() junitSuite {
	s := junitSuite{Name: c.ID}
	add := func(name string, failure, problem *junitProblem) {
		s.Tests++
		if failure != nil {
			s.Failures++
		}
		if problem != nil {
			s.Errors++
		}
		s.Cases = append(s.Cases, junitCase{name, c.ID, failure, problem})
	}
	if !c.Checked {
		add("check", nil, &junitProblem{"the cluster could not be checked", strings.Join(c.Faults, "\n")})
	}
	byRelease := map[string][]DriftFinding{}
	names := append([]string{}, c.Releases...)
	for _, f := range c.Findings {
		if _, known := c.places[f.Release]; !known && byRelease[f.Release] == nil && !slices.Contains(names, f.Release) {
			names = append(names, f.Release)
		}
		byRelease[f.Release] = append(byRelease[f.Release], f)
	}
	for _, name := range names {
		found := byRelease[name]
		switch {
		case len(found) > 0:
			add(releaseCase(name), &junitProblem{diag.Count(len(found), "difference", "differences"), findingsText(found, "")}, nil)
		case c.Checked:
			add(releaseCase(name), nil, nil)
		}
	}
	return s
}

// releaseCase returns the name of the case of a release.
func releaseCase(name string) string {
	if name == "" {
		return "objects without a release"
	}
	return name
}
