package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// common are the custom resources that charts of other projects render most.
// Their schemas are small: they contain no pods.
var common = strings.Fields(`
	BackendTLSPolicy GRPCRoute Gateway GatewayClass HTTPRoute ListenerSet ReferenceGrant TCPRoute TLSRoute UDPRoute
	PodMonitor Probe PrometheusRule ServiceMonitor
	Certificate ScaledObject TriggerAuthentication VerticalPodAutoscaler`)

// writeCustom writes custom.txt.zst: a line with the schema of each common kind
// in the CRDs of the modules.
func writeCustom(out string, modules []string) error {
	kinds := map[string]*definition{}
	for _, m := range modules {
		dir, err := downloadModule(m)
		if err != nil {
			return err
		}
		if err := addCRDs(kinds, dir); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
	}
	var lines []string
	for _, name := range common {
		if kinds[name] == nil {
			return fmt.Errorf("no CRD of %s", name)
		}
		line, err := json.Marshal(kinds[name])
		if err != nil {
			return err
		}
		lines = append(lines, string(line)+"\n")
	}
	slices.Sort(lines)
	packed, err := pack([]byte(strings.Join(lines, "")))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "custom.txt.zst"), packed, 0o644)
}

// downloadModule returns the directory of a module in the module cache.
func downloadModule(module string) (dir string, err error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside of any module
	out, err := cmd.Output()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return "", err
	}
	var answer struct{ Dir, Error string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("read the answer of %s: %w", cmd, err)
	}
	if answer.Error != "" {
		return "", errors.New(answer.Error)
	}
	return answer.Dir, nil
}

// addCRDs adds the common kinds that CRDs in the directory define. When several
// files define a kind, the schema with the most fields counts.
func addCRDs(kinds map[string]*definition, dir string) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil || bytes.Contains(data, []byte("{{")) {
			return err
		}
		for doc := range bytes.SplitSeq(data, []byte("\n---")) {
			if !bytes.Contains(doc, []byte("kind: CustomResourceDefinition\n")) {
				continue
			}
			if err := addCRD(kinds, doc); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		return nil
	})
}

func addCRD(kinds map[string]*definition, doc []byte) error {
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name    string
				Storage bool
				Schema  struct {
					OpenAPIV3Schema *crdSchema `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(bytes.TrimPrefix(doc, []byte("---")), &crd); err != nil {
		return err
	}
	if !slices.Contains(common, crd.Spec.Names.Kind) {
		return nil
	}
	for _, v := range crd.Spec.Versions {
		if !v.Storage || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		d := v.Schema.OpenAPIV3Schema.definition()
		delete(d.Properties, "status")
		delete(d.Properties, "metadata")
		d.Kind = crd.Spec.Group + "/" + v.Name + " " + crd.Spec.Names.Kind
		if old := kinds[crd.Spec.Names.Kind]; old == nil || old.size() < d.size() {
			kinds[crd.Spec.Names.Kind] = d
		}
	}
	return nil
}

// A crdSchema is the part of a schema in a CRD that the program keeps. It omits
// enums, which become longer with new versions.
type crdSchema struct {
	Type        string
	Properties  map[string]*crdSchema
	Items       *crdSchema
	Values      *crdSchema `json:"additionalProperties"`
	IntOrString bool       `json:"x-kubernetes-int-or-string"`
	Open        bool       `json:"x-kubernetes-preserve-unknown-fields"`
}

func (s *crdSchema) definition() *definition {
	if s == nil {
		return nil
	}
	d := &definition{Type: s.Type, Open: s.Open, Items: s.Items.definition(), Values: s.Values.definition()}
	if s.IntOrString {
		d.Type, d.Format = "", "int-or-string"
	}
	for name, below := range s.Properties {
		if d.Properties == nil {
			d.Properties = map[string]*definition{}
		}
		d.Properties[name] = below.definition()
	}
	return d
}

// size returns the number of fields.
func (d *definition) size() int {
	if d == nil {
		return 0
	}
	n := len(d.Properties) + d.Items.size() + d.Values.size()
	for _, below := range d.Properties {
		n += below.size()
	}
	return n
}
