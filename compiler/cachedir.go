package compiler

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/results"
)

// Results returns the stored results. There are none without a build, and none with
// NoCache.
func (c *Compiler) Results() *results.Store {
	dir := c.resultsDir()
	if c.NoCache {
		dir = ""
	}
	return results.New(c.Build, dir, c.KeepNothing, c.Shared)
}

// CleanCache removes the results of earlier runs, of all builds.
func (c *Compiler) CleanCache() error {
	dir := c.resultsDir()
	if dir == "" {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clean the cache: %w", err)
	}
	return nil
}

// resultsDir returns where results are; empty when the user has no cache folder.
func (c *Compiler) resultsDir() string {
	dir := c.Cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(user, "fleetc")
	}
	return filepath.Join(dir, "results")
}
