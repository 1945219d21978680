package clusters

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	kwokModule       = "sigs.k8s.io/kwok"
)

// programs are the programs of a control plane.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet", "kwok"}

var controlPlane = Recipe{
	Name:     "controlplane",
	Parts:    append([]string{"stages"}, programs...),
	Versions: []string{kubernetesModule, kwokModule},
	Flags:    versionFlags,
	Finish: func(dir string, module func(string) (string, error)) error {
		if err := os.Rename(filepath.Join(dir, "server"), filepath.Join(dir, "etcd")); err != nil {
			return err
		}
		kwok, err := module(kwokModule)
		if err != nil {
			return err
		}
		return copyStages(filepath.Join(kwok, "kustomize", "stage"), filepath.Join(dir, "stages"))
	},
}

// Tools are the built programs of a control plane.
type Tools struct {
	Dir        string // directory of the programs, by their usual names, and kwok's stages
	Kubernetes string // version, such as "v1.37.1"
	Kwok       string
}

// Build returns the programs of the control planes, see [Recipe.Build].
func Build(ctx context.Context, log io.Writer) (*Tools, error) {
	built, err := controlPlane.Build(ctx, log)
	if err != nil {
		return nil, err
	}
	return &Tools{Dir: built.Dir, Kubernetes: built.Versions[kubernetesModule], Kwok: built.Versions[kwokModule]}, nil
}

func (t *Tools) file(name string) string { return filepath.Join(t.Dir, name) }

// emulate returns the minor version to emulate, "" for the built version. A server
// can emulate the three versions before it.
func (t *Tools) emulate(version string) (string, error) {
	var built, minor int
	if _, err := fmt.Sscanf(t.Kubernetes, "v1.%d.", &built); err != nil {
		return "", fmt.Errorf("version %s of Kubernetes: %w", t.Kubernetes, err)
	}
	if version == "" || version == "1."+strconv.Itoa(built) {
		return "", nil
	}
	minor, err := strconv.Atoi(strings.TrimPrefix(version, "1."))
	if err != nil || minor < built-3 || minor > built || !strings.HasPrefix(version, "1.") {
		return "", fmt.Errorf("a control plane of 1.%d behaves as 1.%d to 1.%d, not as %q", built, built-3, built, version)
	}
	return version, nil
}

// versionFlags returns flags that set the versions of the programs, as in a
// release: clients depend on them.
func versionFlags(versions map[string]string) []string {
	kubernetes := versions[kubernetesModule]
	minor, _, _ := strings.Cut(strings.TrimPrefix(kubernetes, "v1."), ".")
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, v := range []string{
			"gitVersion=" + kubernetes, "gitMajor=1", "gitMinor=" + minor,
			"gitTreeState=clean", "gitCommit=goproxy", "buildDate=2026-01-01T00:00:00Z",
		} {
			flags = append(flags, "-X", pkg+"."+v)
		}
	}
	return append(flags, "-X", "sigs.k8s.io/kwok/pkg/consts.Version="+versions[kwokModule])
}
