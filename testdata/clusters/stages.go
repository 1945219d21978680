package clusters

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ownStages are the stages that kwok does not have.
//
//go:embed stages/*.yaml
var ownStages embed.FS

// kwokStages are the directories of kwok's stages that are used.
var kwokStages = []string{"node/fast", "node/heartbeat-with-lease", "pod/fast", "volume/fast"}

// stageGuards are the annotations that two of kwok's stages must respect.
var stageGuards = map[string]string{"pod-ready": "fleetc.test/stuck", "pod-complete": "fleetc.test/fail"}

// classes are the storage classes of a cluster: kwok's default, and common classes
// of clouds.
var classes = []string{"kwok-volume", "gp3", "premium-rwo"}

// kwokClassCheck is the expression by which kwok's stages select volumes.
const kwokClassCheck = "self.spec.storageClassName == 'kwok-volume'"

// kwokVolumes is where kwok's volumes are on real nodes, nodeVolumes where they become
// part of the node's own mounts.
const (
	kwokVolumes = "/tmp/kwok-local-path-provisioner/"
	nodeVolumes = "/var/lib/fleetc-volumes/"
)

const (
	guard = `    - key: '.metadata.annotations["%s"]'
      operator: 'DoesNotExist'
`
	guarded = "    matchExpressions:\n"
)

// copyStages copies kwok's stages from its module to a directory.
func copyStages(module, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, dir := range kwokStages {
		files, err := filepath.Glob(filepath.Join(module, filepath.FromSlash(dir), "*.yaml"))
		if err != nil {
			return err
		}
		copied := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if !bytes.Contains(text, []byte("\nkind: Stage\n")) {
				continue
			}
			copied++
			if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
				return err
			}
		}
		if copied == 0 {
			return fmt.Errorf("kwok has no stages in %s", filepath.Join(module, dir))
		}
	}
	return nil
}

// nameVolumeFirst changes the stage that provisions a claim: it must name the
// volume before it sets the phase to Bound. The volume controller treats a bound
// claim without a volume name as lost.
func nameVolumeFirst(stage string) (string, error) {
	const bound, named, status = "  - patch:\n      root: metadata\n", "  - patch:\n      root: spec\n", "  - patch:\n      root: status\n"
	before, rest, _ := strings.Cut(stage, bound)
	annotations, rest, _ := strings.Cut(rest, named)
	volume, after, ok := strings.Cut(rest, status)
	if !ok {
		return "", errors.New("it has not the three patches of a claim")
	}
	return before + named + volume + bound + annotations + status + after, nil
}

// stages returns kwok's stages from a directory with guards, and our own.
func stages(dir string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []string
	guarding, volumes := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		stage := string(text)
		if annotation, ok := stageGuards[strings.TrimSuffix(filepath.Base(file), ".yaml")]; ok {
			if strings.Count(stage, guarded) != 1 {
				return nil, fmt.Errorf("%s has not one place for a guard", file)
			}
			stage = strings.Replace(stage, guarded, guarded+fmt.Sprintf(guard, annotation), 1)
			guarding++
		}
		if filepath.Base(file) == "pvc-provision.yaml" {
			if stage, err = nameVolumeFirst(stage); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		stage = strings.ReplaceAll(stage, kwokVolumes, nodeVolumes)
		all = append(all, strings.ReplaceAll(stage, kwokClassCheck, "self.spec.storageClassName in ['"+strings.Join(classes, "', '")+"']"))
		volumes += strings.Count(stage, kwokClassCheck)
	}
	if guarding != len(stageGuards) {
		return nil, fmt.Errorf("%d of %d stages to guard are in %s", guarding, len(stageGuards), dir)
	}
	if volumes == 0 {
		return nil, fmt.Errorf("no stage in %s is for volumes of kwok", dir)
	}
	own, err := fs.Glob(ownStages, "stages/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range own {
		text, err := ownStages.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, string(text))
	}
	return []byte(strings.Join(all, "---\n")), nil
}
