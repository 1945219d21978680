// Package oci keeps what clusters run in a registry: one artifact for each
// cluster, of the media types that Flux reads, which a tag names.
//
//	oci://<registry>/<path>/<cluster ID>:<tag>
//
// The same files make the same artifact with the same digest, wherever and
// whenever: there are no times, users and machines in it. The package talks to
// registries and does not know what is in the files.
//
// Beside that it keeps results for other machines, see [Cache]: one artifact for
// each, in one repository, of media types of their own.
package oci

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/registry"
)

const form = "write oci://REGISTRY/PATH:TAG, as in oci://ghcr.io/example/clusters:main"

var (
	tagForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

	// What registries take as a repository, which is less than the library does.
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
)

// maxRepository is how long the name of a repository may be.
const maxRepository = 255

// A Target is where the artifacts of a fleet go.
type Target struct {
	registry string // host, maybe with a port
	path     string // what the repositories of all clusters begin with
	tag      string
}

// Parse reads a target as users write it. The error is a fault.
func Parse(text string) (Target, error) {
	p := place{text, form}
	host, path, tag, err := p.split()
	if err == nil && tag == "" {
		err = p.fault("it has no tag")
	}
	if err != nil {
		return Target{}, err
	}
	return Target{host, path, tag}, nil
}

// A place is an address that a user wrote, and how to write one.
type place struct{ text, form string }

// fault says why it is none.
func (p place) fault(why string) error {
	return &diag.Diag{Msg: fmt.Sprintf("%q is no place for artifacts: %s", diag.Visible(p.text, diag.MaxText), why), Hint: p.form}
}

// split returns what the address is made of; the tag is empty when there is none.
// The error is a fault.
func (p place) split() (host, path, tag string, err error) {
	rest, ok := strings.CutPrefix(p.text, registry.Scheme)
	host, rest, _ = strings.Cut(rest, "/")
	path, tag, tagged := strings.Cut(rest, ":")
	switch {
	case !ok:
		err = p.fault("it does not begin with " + registry.Scheme)
	case strings.Contains(host, "@"):
		err = &diag.Diag{Msg: "the address of the registry has credentials in it", Hint: "leave them out, and run docker login"}
	case strings.Contains(rest, "@"):
		err = p.fault("a digest is no tag")
	case tagged && !tagForm.MatchString(tag):
		err = p.fault("its tag is not one of letters, digits, dashes, underscores and dots")
	case path == "":
		err = p.fault("it has no path")
	case !repositoryForm.MatchString(path):
		err = p.fault("its path is not one of lower-case letters, digits, dashes, underscores and dots")
	case len(path) > maxRepository:
		err = p.fault(fmt.Sprintf("its path is longer than %d characters", maxRepository))
	}
	if err != nil {
		return "", "", "", err
	}
	if _, err := name.NewRegistry(host, name.StrictValidation); err != nil {
		return "", "", "", p.fault("its registry has no host")
	}
	return host, path, tag, nil
}

// repository returns that of a cluster, oci://host/path. The error is a fault.
func (t Target) repository(cluster string) (string, error) {
	path := t.path + "/" + cluster
	if !repositoryForm.MatchString(cluster) {
		return "", &diag.Diag{
			Msg:  fmt.Sprintf("registries take no repository %s: a name there has lower-case letters and digits, with single dots, dashes or underscores between them", diag.Visible(path, diag.MaxText)),
			Hint: "rename the directory of the cluster, or export to a directory or to git",
		}
	}
	if len(path) > maxRepository {
		return "", &diag.Diag{
			Msg:  fmt.Sprintf("registries take no repository %s: it is longer than %d characters", diag.Visible(path, diag.MaxText), maxRepository),
			Hint: "use a shorter path in the registry",
		}
	}
	return registry.Scheme + t.registry + "/" + path, nil
}
