package clusters

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const cgroupDir = "/sys/fs/cgroup"

// hierarchies returns the directories of the cgroup hierarchies: one for each
// controller, or one for all of them.
func hierarchies() ([]string, error) {
	if exists(filepath.Join(cgroupDir, "cgroup.controllers")) {
		return []string{cgroupDir}, nil
	}
	entries, err := os.ReadDir(cgroupDir)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() { // others are links
			dirs = append(dirs, filepath.Join(cgroupDir, e.Name()))
		}
	}
	return dirs, nil
}

// controllers are the controllers of cgroups that kubelet needs.
var controllers = []string{"cpu", "cpuset", "memory", "pids"}

// missingControllers returns the controllers that the machine does not have.
func missingControllers() []string {
	all, _ := os.ReadFile(filepath.Join(cgroupDir, "cgroup.controllers"))
	served := strings.Fields(string(all))
	return slices.DeleteFunc(slices.Clone(controllers), func(name string) bool {
		return slices.Contains(served, name) || exists(filepath.Join(cgroupDir, name, "cgroup.procs"))
	})
}

// makeCgroups creates a cgroup in each hierarchy. It first removes those of a killed
// process whose link had the same number.
func makeCgroups(name string) error {
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	if err := removeCgroups(name); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroups removes a cgroup and those below it, which have no processes.
func removeCgroups(name string) error {
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		var below []string
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				below = append(below, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, path := range slices.Backward(below) {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// sweepCgroups removes the cgroups of killed processes: those without a link, which is
// created before its cgroup and ends with its node.
func sweepCgroups() error {
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, linkPrefix+"*"))
		if err != nil {
			return err
		}
		for _, path := range found {
			name := filepath.Base(path)
			number, err := reserveLink(name)
			if err != nil {
				continue // a node has it
			}
			if !exists(filepath.Join("/sys/class/net", name)) {
				errs = append(errs, removeCgroups(name))
			}
			errs = append(errs, number.Close())
		}
	}
	return errors.Join(errs...)
}
