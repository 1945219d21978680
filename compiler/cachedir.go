package compiler

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/cache"
)

// Results returns the store of results. It is disabled without a build and with NoCache.
func (c *Compiler) Results() *cache.Store {
	dir := c.resultsDir()
	if c.NoCache {
		dir = ""
	}
	return cache.New(c.Build, dir, c.ReadOnlyCache)
}

// CleanCache removes the results of earlier runs, of all builds.
func (c *Compiler) CleanCache() error {
	if err := os.RemoveAll(c.resultsDir()); err != nil {
		return fmt.Errorf("clean the cache: %w", err)
	}
	return nil
}

// resultsDir returns the directory of results; empty when the user has no cache directory.
func (c *Compiler) resultsDir() string {
	if dir := c.CacheDir(); dir != "" {
		return filepath.Join(dir, "results")
	}
	return ""
}

// CacheDir returns the cache directory for charts and results; empty when the user has no
// cache directory.
func (c *Compiler) CacheDir() string {
	if c.Cache != "" {
		return c.Cache
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, "fleetc")
}
