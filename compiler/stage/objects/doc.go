// Package objects works on the rendered objects of a cluster: it applies the patches of their
// releases, and puts them into the bundle.
//
// [PatchRelease] applies Kubernetes' strategic merge, JSON merge patch (RFC 7386), JSON patch
// (RFC 6902), and new prefixes for names of container images. It does not validate the
// resulting objects. It does check that a patch matches an object and names no unknown field
// of a built-in kind, since the fault is then in the line of the patch.
//
// An [Assembler] sorts objects in the order of application, encodes each as canonical YAML and
// computes the digest of the bundle: equal objects give equal bytes and an equal digest on
// every machine.
//
// The package does not use CUE, files, the network or the clock.
package objects
