package diag

// The codes of all faults. [Code.Title] says what each means, and its page in the
// directory codes how to correct the fault. A new code takes the next number of its
// range. A code that nothing uses any more stays in codes.txt as retired.

// CUE and the files of a fleet.
const (
	CodeNoFleet       Code = "FL1001"
	CodeNoClusters    Code = "FL1002"
	CodeModulePath    Code = "FL1003"
	CodeSyntax        Code = "FL1004"
	CodeUnknownName   Code = "FL1005"
	CodeUnusedFile    Code = "FL1006"
	CodeDirectoryName Code = "FL1007"
	CodeOutsideFleet  Code = "FL1008"
	CodeGeneratedFile Code = "FL1009"
	CodeLimits        Code = "FL1010"
	CodeCycle         Code = "FL1011"
	CodeExpression    Code = "FL1012"
	CodeFileSize      Code = "FL1013"
	CodeEmbeddedFile  Code = "FL1014"
)

// Layers, clusters and releases.
const (
	CodeNestedCluster     Code = "FL1101"
	CodeSameCluster       Code = "FL1102"
	CodeUnusedDefaults    Code = "FL1103"
	CodeEmptySelection    Code = "FL1104"
	CodeWrongLayer        Code = "FL1105"
	CodeNotRootLayer      Code = "FL1106"
	CodeReleaseSource     Code = "FL1107"
	CodeReleaseField      Code = "FL1108"
	CodeStage             Code = "FL1109"
	CodeDependency        Code = "FL1110"
	CodeDifference        Code = "FL1111"
	CodeKubernetesVersion Code = "FL1112"
	CodeUnusedRule        Code = "FL1113"
	CodeReleaseName       Code = "FL1114"
)

// Values.
const (
	CodeConstraint   Code = "FL1201"
	CodeConflict     Code = "FL1202"
	CodeWrongType    Code = "FL1203"
	CodeUnknownField Code = "FL1204"
	CodeMissingValue Code = "FL1205"
	CodeChartType    Code = "FL1206"
	CodeUnreadValue  Code = "FL1207"
	CodeChartSchema  Code = "FL1208"
	CodeYAMLWord     Code = "FL1209"
	CodeUnknownType  Code = "FL1210"
	CodeTextForm     Code = "FL1211"
)

// Charts and pins.
const (
	CodeChartReference    Code = "FL1301"
	CodeDigestMismatch    Code = "FL1302"
	CodePin               Code = "FL1303"
	CodeNotInStore        Code = "FL1304"
	CodeChartNotFound     Code = "FL1305"
	CodeChartFiles        Code = "FL1306"
	CodeChartDependencies Code = "FL1307"
	CodeChartPath         Code = "FL1308"
	CodeVendoredCopy      Code = "FL1309"
	CodeSchemaDocument    Code = "FL1310"
)

// Jsonnet, kustomizations and manifests.
const (
	CodeJsonnet          Code = "FL1401"
	CodeJsonnetParameter Code = "FL1402"
	CodeKustomization    Code = "FL1403"
	CodeUnpinnedSource   Code = "FL1404"
	CodeSourceFile       Code = "FL1405"
	CodeManifest         Code = "FL1406"
	CodeSourceLimits     Code = "FL1407"
)

// Rendering.
const (
	CodeChartNotInstallable Code = "FL1501"
	CodeTemplate            Code = "FL1502"
	CodeRenderedObject      Code = "FL1503"
	CodeRenderLimits        Code = "FL1504"
	CodeNondeterministic    Code = "FL1505"
	CodeRandomRule          Code = "FL1506"
	CodeNotConverging       Code = "FL1507"
	CodeSameObject          Code = "FL1508"
	CodeManifestValue       Code = "FL1509"
	CodePatchInvalid        Code = "FL1510"
	CodePatchUnmatched      Code = "FL1511"
	CodePatchFailed         Code = "FL1512"
	CodeOwnership           Code = "FL1513"
)

// Objects of Kubernetes.
const (
	CodeUnknownKind        Code = "FL1601"
	CodeUnknownObjectField Code = "FL1602"
	CodeObjectValue        Code = "FL1603"
	CodeCustomResource     Code = "FL1604"
	CodeCRD                Code = "FL1605"
	CodeHealthRule         Code = "FL1606"
	CodeHelmSize           Code = "FL1607"
)

// Policies.
const (
	CodePolicy        Code = "FL1701"
	CodePolicyInvalid Code = "FL1702"
	CodePolicyError   Code = "FL1703"
	CodeWaiver        Code = "FL1704"
)

// Secrets.
const (
	CodeUnknownSecret      Code = "FL1801"
	CodeSecretInvalid      Code = "FL1802"
	CodeSecretValue        Code = "FL1803"
	CodeSecretExposed      Code = "FL1804"
	CodeSecretFile         Code = "FL1805"
	CodeSOPSFile           Code = "FL1806"
	CodePlainText          Code = "FL1807"
	CodeDecryptionKey      Code = "FL1808"
	CodeSOPSRules          Code = "FL1809"
	CodeSecretEdit         Code = "FL1810"
	CodeSecretUnavailable  Code = "FL1811"
	CodeSecretNotEncrypted Code = "FL1812"
	CodeURLCredentials     Code = "FL1813"
)

// Exports and GitOps.
const (
	CodeDestination       Code = "FL2001"
	CodeForeignFile       Code = "FL2002"
	CodeDamagedExport     Code = "FL2003"
	CodeOtherBundle       Code = "FL2004"
	CodeConcurrentExport  Code = "FL2005"
	CodeGitAddress        Code = "FL2006"
	CodePushRefused       Code = "FL2007"
	CodeRegistryAddress   Code = "FL2008"
	CodeLayout            Code = "FL2009"
	CodeGitOpsUnsupported Code = "FL2010"
)

// Applies and clusters.
const (
	CodeKubeconfig    Code = "FL2101"
	CodeOtherCluster  Code = "FL2102"
	CodeAPIServer     Code = "FL2103"
	CodeRights        Code = "FL2104"
	CodeLease         Code = "FL2105"
	CodeFieldConflict Code = "FL2106"
	CodeObjectRefused Code = "FL2107"
	CodePruneLimit    Code = "FL2108"
	CodeNotReady      Code = "FL2109"
	CodeActionFailed  Code = "FL2110"
	CodeActionInvalid Code = "FL2111"
	CodeStalePlan     Code = "FL2112"
	CodeDamagedRecord Code = "FL2113"
	CodeNoRevision    Code = "FL2114"
	CodeHelm          Code = "FL2115"
	CodeTestFailed    Code = "FL2116"
	CodeNotCurrent    Code = "FL2117"
)

// Rollouts.
const (
	CodeRolloutInvalid Code = "FL2201"
	CodeWaveMembers    Code = "FL2202"
	CodeWaveWaits      Code = "FL2203"
	CodeWaveChange     Code = "FL2204"
	CodeClusterReport  Code = "FL2205"
	CodeNoRollout      Code = "FL2206"
)

// Updates and edits.
const (
	CodeNoPackage       Code = "FL2301"
	CodeNotOwnFile      Code = "FL2302"
	CodeOtherChart      Code = "FL2303"
	CodeNoVersion       Code = "FL2304"
	CodeNothingToUpdate Code = "FL2305"
	CodeCannotEdit      Code = "FL2306"
	CodeUpdateEffect    Code = "FL2307"
	CodeUpdateRule      Code = "FL2308"
	CodeChangedFile     Code = "FL2309"
)

// Imports.
const (
	CodeNothingToImport   Code = "FL2401"
	CodeImportCluster     Code = "FL2402"
	CodeImportFile        Code = "FL2403"
	CodeImportInvalid     Code = "FL2404"
	CodeImportUnsupported Code = "FL2405"
	CodeImportChart       Code = "FL2406"
	CodeImportTemplate    Code = "FL2407"
	CodeImportCycle       Code = "FL2408"
)

// The command line.
const (
	CodeUnknownCommand  Code = "FL3001"
	CodeArguments       Code = "FL3002"
	CodeFlagValue       Code = "FL3003"
	CodeFlagCombination Code = "FL3004"
	CodeNoMatch         Code = "FL3005"
	CodeNotConfirmed    Code = "FL3006"
	CodeSeveralMatches  Code = "FL3007"
	CodeFieldPath       Code = "FL3008"
)

// The machine: network, git, files, programs.
const (
	CodeNetwork      Code = "FL3101"
	CodeGit          Code = "FL3102"
	CodeNoCommit     Code = "FL3103"
	CodeGitLimits    Code = "FL3104"
	CodeFileSystem   Code = "FL3105"
	CodeProgram      Code = "FL3106"
	CodeOtherVersion Code = "FL3107"
	CodeBug          Code = "FL3108"
	CodeInterrupted  Code = "FL3109"
	CodeSystemError  Code = "FL3110"
)
