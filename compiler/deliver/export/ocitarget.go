package export

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

var (
	tagForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

	// The names of repositories that registries accept; the library accepts
	// more.
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
)

// maxRepository is the maximum length of the name of a repository.
const maxRepository = 255

// A RegistryTarget is the destination of the artifacts of a fleet.
type RegistryTarget struct {
	registry string // host, maybe with a port
	path     string // common prefix of the repositories of all clusters
	tag      string
}

// ParseTarget parses a target. The error is a fault.
func ParseTarget(text string) (RegistryTarget, error) {
	fault := func(why string) (RegistryTarget, error) {
		return RegistryTarget{}, &diag.Diag{
			Code: diag.CodeRegistryAddress,
			Msg:  fmt.Sprintf("%q is not a valid address for artifacts: %s", diag.Visible(text, diag.MaxText), why),
			Hint: "write oci://REGISTRY/PATH:TAG, as in oci://ghcr.io/example/clusters:main",
		}
	}
	rest, ok := strings.CutPrefix(text, chart.OCIScheme)
	host, rest, _ := strings.Cut(rest, "/")
	path, tag, tagged := strings.Cut(rest, ":")
	switch {
	case !ok:
		return fault("it does not begin with " + chart.OCIScheme)
	case strings.Contains(host, "@"):
		return RegistryTarget{}, &diag.Diag{Code: diag.CodeURLCredentials, Msg: "the address of the registry has credentials in it", Hint: "leave them out, and run docker login"}
	case strings.Contains(rest, "@"):
		return fault("it has a digest instead of a tag")
	case tagged && !tagForm.MatchString(tag):
		return fault("its tag may have letters, digits, dashes, underscores and dots only")
	case path == "":
		return fault("it has no path")
	case !repositoryForm.MatchString(path):
		return fault("its path may have lower-case letters, digits, dashes, underscores and dots only")
	case len(path) > maxRepository:
		return fault(fmt.Sprintf("its path is longer than %d characters", maxRepository))
	}
	if _, err := name.NewRegistry(host, name.StrictValidation); err != nil {
		return fault("its registry has no host")
	}
	if tag == "" {
		return fault("it has no tag")
	}
	return RegistryTarget{host, path, tag}, nil
}

// repository returns the repository of a cluster, oci://host/path. The error is
// a fault.
func (t RegistryTarget) repository(cluster string) (string, error) {
	if err := CheckArtifactID(cluster); err != nil {
		return "", err
	}
	path := t.path + "/" + strings.ToLower(cluster)
	if len(path) > maxRepository {
		return "", &diag.Diag{
			Code: diag.CodeRegistryAddress,
			Msg:  fmt.Sprintf("%s is not a valid repository name: it is longer than %d characters", diag.Visible(path, diag.MaxText), maxRepository),
			Hint: "use a shorter path in the registry",
		}
	}
	return chart.OCIScheme + t.registry + "/" + path, nil
}

// CheckArtifactID returns a fault if the ID of a cluster cannot be part of the name of a
// repository, which has its letters in lower case. No two clusters of a fleet have IDs
// that differ only in case.
func CheckArtifactID(cluster string) error {
	if repositoryForm.MatchString(strings.ToLower(cluster)) {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeRegistryAddress,
		Msg:  fmt.Sprintf("the cluster ID %s cannot be the name of a repository: registries allow letters and digits, separated by single dots, dashes or underscores", diag.Visible(cluster, diag.MaxText)),
		Hint: "rename the directory of the cluster, or export to a directory or to git",
	}
}
