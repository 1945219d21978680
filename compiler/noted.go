package compiler

import "github.com/fleetc/fleetc/compiler/fleet"

func (s *Settled) note(*fleet.Cluster, Inputs) {}
