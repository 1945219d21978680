package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A ClusterSource is a cluster of an import and the place where the tool has it: a
// directory, the name or address of a destination, or a context of a kubeconfig.
type ClusterSource struct{ ID, Source string }

// ParseClusters parses texts of the form ID=SOURCE. defaultID returns the ID of a text
// that is only a source; without defaultID, each text needs an ID. example is a valid text
// for hints. IDs are distinct, and none is inside of another.
func ParseClusters(texts []string, example string, defaultID func(source string) string) ([]ClusterSource, error) {
	var all []ClusterSource
	for _, text := range texts {
		id, source, ok := strings.Cut(text, "=")
		if !ok && defaultID != nil {
			id, source, ok = defaultID(text), text, true
		}
		if !ok || id == "" || source == "" {
			return nil, &diag.Diag{Code: diag.CodeImportCluster, Msg: fmt.Sprintf("%q is not a valid cluster", diag.Visible(text, diag.MaxText)), Hint: "write it as in " + example}
		}
		if err := checkNewID(id, all); err != nil {
			return nil, err
		}
		all = append(all, ClusterSource{ID: id, Source: source})
	}
	return all, nil
}

// checkNewID returns a fault for an ID that a cluster beside others cannot have.
func checkNewID(id string, others []ClusterSource) error {
	if err := checkID(id); err != nil {
		return err
	}
	for _, other := range others {
		switch {
		case strings.EqualFold(other.ID, id):
			return &diag.Diag{Code: diag.CodeImportCluster, Msg: "two clusters are called " + other.ID, Hint: "give each cluster another ID: ID=..."}
		case fleet.IsWithin(other.ID, id), fleet.IsWithin(id, other.ID):
			return &diag.Diag{
				Code: diag.CodeImportCluster,
				Msg:  fmt.Sprintf("the clusters %s and %s are nested", other.ID, id),
				Hint: "a directory is a cluster or a layer of clusters: give one of them another ID",
			}
		}
	}
	return nil
}

// layerName matches the names of directories that can be layers.
var layerName = regexp.MustCompile(`^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$`)

// checkID returns a fault for an ID that a cluster cannot have, because package load does
// not take its directory.
func checkID(id string) error {
	names := strings.Split(id, "/")
	for i, name := range names {
		switch {
		case !layerName.MatchString(name), name == "testdata", name == "cue.mod", i == 0 && name == "charts":
			return &diag.Diag{
				Code: diag.CodeImportCluster,
				Msg:  fmt.Sprintf("a cluster cannot have the ID %q", diag.Visible(id, diag.MaxText)),
				Hint: "write names of directories with letters, digits and inner - _ and ., such as prod/eu; charts, testdata and cue.mod have another use",
			}
		case name == "root" || slices.Contains(names[:i], name):
			return &diag.Diag{
				Code: diag.CodeImportCluster,
				Msg:  fmt.Sprintf("two layers of the cluster %q are called %s", diag.Visible(id, diag.MaxText), name),
				Hint: "give each directory of the ID another name; the directory environments is the layer root",
			}
		}
	}
	return nil
}

// IDOf returns an ID for a name or address: other characters than those of a layer's name
// become dashes. It is empty when none are left.
func IDOf(name string) string { return strings.Trim(replaceOthers(name, "-_.", '-'), "-_.") }

// replaceOthers returns a text with a character in place of all but ASCII letters, digits and
// those in kept.
func replaceOthers(text, kept string, by rune) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(kept, r) {
			return r
		}
		return by
	}, text)
}

// maxName is the maximum length of the name of a release in Helm.
const maxName = 53

// nameOf returns a text as the name of a release: lower-case letters, digits and dashes, cut
// if it is too long. It is empty when none are left.
func nameOf(text string) string {
	name := strings.Trim(replaceOthers(strings.ToLower(text), "", '-'), "-")
	return strings.TrimRight(name[:min(len(name), maxName)], "-")
}
