// Package source reads the objects of releases without a chart: Jsonnet, kustomizations, and
// files of YAML or JSON. Only this package imports the libraries of Jsonnet and kustomize.
//
// The result depends on the request and on files of the fleet, which are reported. The
// environment, the network and the clock are not accessible. Charts and remote kustomizations
// come from functions of the caller.
//
// [JsonnetRenderer] evaluates a file with a function of the release's values. An evaluation
// inside of a built-in function cannot be interrupted: Render returns, but the evaluation
// continues in the background, see [diag.ErrRunaway].
//
// [BuildKustomization] builds the same objects as the kustomize command, without plugins and
// containers. Kustomizations do not depend on clusters. The program must silence the standard
// logger, which kustomize uses for warnings.
//
// [ReadManifests] reads files like kubectl apply -R -f, and is stricter: duplicate keys,
// documents that are not objects and directories without manifests are faults.
//
// Sizes, steps, depth, time and memory are limited, since a small input can have a huge
// result.
package source
