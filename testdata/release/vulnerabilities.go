package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"
)

// An exemption allows releases to have a vulnerability until a date.
type exemption struct {
	ID     string `json:"id"`     // of the Go vulnerability database: GO-2026-0001
	Reason string `json:"reason"` // for example that no release has a fix
	Until  string `json:"until"`  // the last day, as 2026-12-31
}

var vulnerabilityID = regexp.MustCompile(`^GO-[0-9]{4}-[0-9]{4,}$`)

// readAllowed reads the list of allowed vulnerabilities.
func readAllowed(file string) ([]exemption, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	var list []exemption
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, a := range list {
		_, err := time.Parse(time.DateOnly, a.Until)
		switch {
		case !vulnerabilityID.MatchString(a.ID):
			return nil, fmt.Errorf("%s: %q is not the ID of a Go vulnerability", file, a.ID)
		case a.Reason == "":
			return nil, fmt.Errorf("%s: %s has no reason", file, a.ID)
		case err != nil:
			return nil, fmt.Errorf("%s: %s: until must be a date such as 2026-12-31", file, a.ID)
		case slices.ContainsFunc(list[:i], func(b exemption) bool { return b.ID == a.ID }):
			return nil, fmt.Errorf("%s: %s is listed twice", file, a.ID)
		}
	}
	return list, nil
}

// A finding is a message of govulncheck. The first element of the trace names a
// function if the code calls it.
type finding struct {
	Config  *struct{} `json:"config"`
	Finding *struct {
		OSV   string `json:"osv"`
		Fixed string `json:"fixed_version"`
		Trace []struct {
			Module   string `json:"module"`
			Version  string `json:"version"`
			Function string `json:"function"`
		} `json:"trace"`
	} `json:"finding"`
}

// checkVulnerabilities reads what govulncheck -format json prints. Each called
// vulnerability must be allowed today, and each allowed one must still exist.
func checkVulnerabilities(r io.Reader, list []exemption, now time.Time) error {
	today := now.UTC().Format(time.DateOnly)
	var found []string
	var errs []error
	complete := false
	for d := json.NewDecoder(r); ; {
		var m finding
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("govulncheck prints invalid JSON: %w", err)
		}
		complete = complete || m.Config != nil
		f := m.Finding
		if f == nil || len(f.Trace) == 0 || f.Trace[0].Function == "" || slices.Contains(found, f.OSV) {
			continue
		}
		found = append(found, f.OSV)
		i := slices.IndexFunc(list, func(a exemption) bool { return a.ID == f.OSV })
		switch {
		case i < 0:
			errs = append(errs, fmt.Errorf("%s: %s %s is called; fixed in %q", f.OSV, f.Trace[0].Module, f.Trace[0].Version, f.Fixed))
		case list[i].Until < today:
			errs = append(errs, fmt.Errorf("%s was allowed until %s: %s", f.OSV, list[i].Until, list[i].Reason))
		}
	}
	if !complete {
		return errors.New("govulncheck printed nothing: it did not run to its end")
	}
	for _, a := range list {
		if !slices.Contains(found, a.ID) {
			errs = append(errs, fmt.Errorf("%s is allowed but not found: remove it from the list", a.ID))
		}
	}
	return errors.Join(errs...)
}
