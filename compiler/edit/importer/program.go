package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// HelmProgram is the program that can render the expected side of a proof.
const HelmProgram = "helm"

// checkProgram returns a fault when the program of the proof cannot be run.
func (o *Options) checkProgram() error {
	switch o.ProveWith {
	case "":
		return nil
	case HelmProgram:
	default:
		return &diag.Diag{
			Msg:  fmt.Sprintf("--prove-with does not take %q", diag.Visible(o.ProveWith, diag.MaxText)),
			Hint: "write --prove-with helm, or leave it out: fleetc renders charts as Helm does",
		}
	}
	if _, err := exec.LookPath(o.ProveWith); err != nil {
		return &diag.Diag{Msg: "the program " + o.ProveWith + " is not in PATH", Hint: "install it, or leave --prove-with out", Cause: err}
	}
	return nil
}

// templateWithHelm returns the objects that helm template prints for a release with values. hooks are
// the hooks that an apply does not run, which are left out.
func templateWithHelm(ctx context.Context, c *fleet.Cluster, r *Release, values any, ch *fleet.Chart, apis []string, hooks []fleet.Object) ([]fleet.Object, error) {
	dir, err := os.MkdirTemp("", "fleetc-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	chartDir := filepath.Join(dir, "chart")
	if err := writeTree(chartDir, ch.Files); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		return nil, err
	}
	valuesFile := filepath.Join(dir, "values.yaml")
	if err := os.WriteFile(valuesFile, text, 0o600); err != nil {
		return nil, err
	}
	args := []string{"template", r.Name, chartDir, "--namespace", r.Namespace, "--kube-version", c.KubeVersion, "--values", valuesFile}
	if !r.SkipCRDs {
		args = append(args, "--include-crds")
	}
	for _, api := range apis {
		args = append(args, "--api-versions", api)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, HelmProgram, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	git.Detach(cmd)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("helm template fails: %s", diag.Brief(errors.New(strings.ReplaceAll(stderr.String(), dir, ""))))
	}
	objs, err := printedObjects(stdout.String(), &fleet.Release{Name: r.Name, Namespace: r.Namespace})
	return slices.DeleteFunc(objs, func(o fleet.Object) bool {
		return slices.ContainsFunc(hooks, func(hook fleet.Object) bool { return hook.ID() == o.ID() && fleet.IsHook(o.Unstructured) })
	}), err
}

// writeTree writes the files of a chart into a directory.
func writeTree(dir string, files []fleet.File) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		name := filepath.FromSlash(f.Name)
		if err := errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), root.WriteFile(name, f.Data, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// crdSource matches the comment that Helm prints above a file of a crds directory.
var crdSource = regexp.MustCompile(`^# Source: (.*/)?crds/`)

// printedObjects returns the objects of YAML documents. Those of a crds directory are
// marked by the comment that Helm prints.
func printedObjects(text string, r *fleet.Release) ([]fleet.Object, error) {
	var out []fleet.Object
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(doc+"\n"), &content); err != nil {
			return nil, fmt.Errorf("helm template prints invalid YAML: %s", diag.Brief(err))
		}
		if content == nil {
			continue
		}
		isCRD := crdSource.MatchString(strings.TrimLeft(doc, "\n"))
		o := &unstructured.Unstructured{Object: content}
		if !o.IsList() {
			out = append(out, fleet.Object{Unstructured: o, Release: r, CRD: isCRD})
			continue
		}
		err := o.EachListItem(func(item runtime.Object) error {
			out = append(out, fleet.Object{Unstructured: item.(*unstructured.Unstructured), Release: r, CRD: isCRD})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
