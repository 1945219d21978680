package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An index is the index.yaml of a repository: the versions of each chart, by name.
// It has only the fields that pins need.
type index map[string][]*entry

type entry struct {
	Version string   `json:"version" yaml:"version"`
	URLs    []string `json:"urls" yaml:"urls"`
	Digest  string   `json:"digest" yaml:"digest"`
}

// index returns the index of a repository. It fetches each index once.
func (s *Source) index(ctx context.Context, repo string) (index, error) {
	return s.indexes.do(ctx, repo, func() (index, error) {
		data, err := s.get(ctx, repo, repo+"/index.yaml", maxIndex, "check the URL of the repository")
		if err != nil {
			return nil, err
		}
		x, err := parseIndex(data)
		if err != nil {
			return nil, &diag.Diag{
				Code: diag.CodeChartNotFound,
				Msg:  fmt.Sprintf("%s/index.yaml is not the index of a Helm repository: %s", repo, oneLine(err.Error())),
				Hint: "check the URL of the repository", Cause: err,
			}
		}
		return x, nil
	})
}

func parseIndex(data []byte) (index, error) {
	var file struct {
		Entries index `json:"entries" yaml:"entries"`
	}
	var err error
	if json.Valid(data) {
		err = json.Unmarshal(data, &file)
	} else {
		err = yaml.Unmarshal(data, &file)
	}
	// An invalid entry of one chart does not affect the other charts.
	_, wrongYAML := errors.AsType[*yaml.TypeError](err)
	_, wrongJSON := errors.AsType[*json.UnmarshalTypeError](err)
	if err != nil && !wrongYAML && !wrongJSON {
		return nil, err
	}
	if file.Entries == nil {
		return nil, errors.New("it has no entries")
	}
	for name, versions := range file.Entries {
		versions = slices.DeleteFunc(versions, func(e *entry) bool { return e == nil || e.Version == "" })
		if file.Entries[name] = versions; len(versions) == 0 {
			delete(file.Entries, name)
		}
	}
	return file.Entries, nil
}

// versions returns the entries of a chart.
func (x index) versions(repo, name string) ([]*entry, error) {
	if found := x[name]; len(found) > 0 {
		return found, nil
	}
	names := make([]string, 0, len(x))
	for n := range x {
		names = append(names, oneLine(n))
	}
	slices.Sort(names)
	return nil, fault(diag.CodeChartNotFound, oneOfCharts(name, names), "%s has no chart %s", repo, name)
}

// entries returns the entries of a chart in the index of its repository, and their versions.
func (s *Source) entries(ctx context.Context, ref fleet.ChartRef) (entries []*entry, versions []string, err error) {
	x, err := s.index(ctx, ref.Repo)
	if err == nil {
		entries, err = x.versions(ref.Repo, ref.Name)
	}
	for _, e := range entries {
		versions = append(versions, e.Version)
	}
	return entries, versions, err
}

// fetchHTTP downloads the archive of a pin from an HTTP repository.
func (s *Source) fetchHTTP(ctx context.Context, ref fleet.ChartRef) ([]byte, error) {
	entries, all, err := s.entries(ctx, ref)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(all, ref.Version); i >= 0 {
		return s.download(ctx, ref, entries[i])
	}
	return nil, noVersion(ref, all)
}

// download fetches the archive of an index entry.
func (s *Source) download(ctx context.Context, ref fleet.ChartRef, e *entry) ([]byte, error) {
	if len(e.URLs) == 0 {
		return nil, fault(diag.CodeChartNotFound, "use another version", "%s: the repository's index has no URL for it", ref)
	}
	// Use the first URL, as Helm does. Repositories with several URLs list mirrors.
	at, err := resolve(ref.Repo, e.URLs[0])
	if err != nil {
		return nil, &diag.Diag{
			Code:  diag.CodeChartNotFound,
			Msg:   fmt.Sprintf("%s: the repository's index has a URL that cannot be used: %s", ref, registryReason(err)),
			Hint:  "use another version, or ask the owner of the repository",
			Cause: err,
		}
	}
	if at.Scheme == "oci" {
		repository, tag := splitTag(strings.TrimPrefix(at.String(), "oci://"), tagOf(ref.Version))
		return s.fetchOCI(ctx, "oci://"+repository, tag)
	}
	return s.get(ctx, ref.Repo, at.String(), maxDownload,
		"use another version, or ask the owner of the repository, whose index lists this archive")
}

// resolve returns the URL of an archive. An index has absolute URLs or URLs relative
// to the repository.
func resolve(repo, raw string) (*url.URL, error) {
	base, err := url.Parse(repo + "/")
	if err != nil {
		return nil, err
	}
	rel, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	u := base.ResolveReference(rel)
	if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "oci" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("scheme %q on host %q", u.Scheme, u.Host)
	}
	if base.Scheme == "https" && u.Scheme == "http" {
		return nil, errors.New("http, from a repository that has https")
	}
	return u, nil
}

// otherURL is the hint for a missing file that the user named.
const otherURL = "check the URL"

// get downloads a file that a repository serves. missing is the hint if the server does
// not have the file.
func (s *Source) get(ctx context.Context, repo, at string, limit int64, missing string) ([]byte, error) {
	client, err := s.client(ctx, repo)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "fleetc")
	if limit == maxDownload {
		// Without this header, net/http would decompress archives that a server
		// declares as encoded tar files, and the digest would differ.
		req.Header.Set("Accept-Encoding", "identity")
	}
	name := showURL(req.URL)
	resp, err := client.Do(req)
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeNetwork, Msg: name + ": " + registryReason(err), Hint: "check the URL and the network", Cause: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, badStatus(name, resp, missing)
	}
	tooLarge := fault(diag.CodeChartFiles, otherVersion, "%s is larger than %d MiB", name, limit>>20)
	if resp.ContentLength > limit {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeNetwork, Msg: name + ": " + registryReason(err), Hint: "run the command again", Cause: err}
	}
	if int64(len(body)) > limit {
		return nil, tooLarge
	}
	return body, nil
}

func badStatus(name string, resp *http.Response, missing string) error {
	code, hint := diag.CodeNetwork, "run the command again"
	answer := fmt.Sprintf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		answer, hint = "the server limits the rate of requests", "run the command again later"
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "check the user and password that helm repo add was given for this repository"
	case http.StatusNotFound, http.StatusGone:
		code, hint = diag.CodeChartNotFound, missing
	}
	return &diag.Diag{Code: code, Msg: name + ": " + answer, Hint: hint}
}

// showURL formats a URL without parts that may be secret.
func showURL(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.Fragment = nil, "", ""
	return oneLine(shown.String())
}
