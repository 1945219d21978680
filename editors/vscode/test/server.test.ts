// Tests src/server.ts with the real fleetc, whose path is in FLEETC.
import assert from "node:assert/strict";
import {type ChildProcess, spawn} from "node:child_process";
import {once} from "node:events";
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {dirname, join} from "node:path";
import {type TestContext, test} from "node:test";
import {pathToFileURL} from "node:url";
import * as lsp from "vscode-languageserver-protocol/node";
import manifest from "../package.json";
import {isFleet, isInFleet, serverCommand, serverProblem} from "../src/server";

const path = process.env.FLEETC ?? "fleetc";
const settings = {path, args: ["--offline", "-j", "1"]};

function temporary(t: TestContext, files: Record<string, string>): string {
	const dir = mkdtempSync(join(tmpdir(), "fleetc-"));
	t.after(() => rmSync(dir, {recursive: true}));
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(dirname(join(dir, name)), {recursive: true});
		writeFileSync(join(dir, name), text);
	}
	return dir;
}

const clusterFile = "environments/dev/one/cluster.cue";
const cluster = 'package fleet\n\ncluster: {name: "one", kubernetes: "1.36"}\n';
const fleet = {
	"cue.mod/module.cue": 'module: "example.com/small"\nlanguage: version: "v0.17.0"\n',
	"environments/fleet.cue":
		'package fleet\n\nimport "github.com/fleetc/fleetc/schema"\n\ncluster?: schema.#Cluster\nreleases: schema.#Releases\nreleases: web: {namespace: "a", manifests: path: "manifests"}\n',
	"manifests/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
	[clusterFile]: `${cluster}releases: web: namspace: "a"\n`,
};

test("finds the fleet around a directory", (t) => {
	const dir = temporary(t, fleet);
	assert.equal(isFleet(dir), true);
	assert.equal(isFleet(join(dir, "environments")), false);
	assert.equal(isInFleet(join(dir, "environments", "dev", "one")), true);
	const module = temporary(t, {"cue.mod/module.cue": "", environments: ""});
	assert.equal(isFleet(module), false, "environments is a file");
	assert.equal(isInFleet(join(module, "cue.mod")), false);
});

test("asks for the user's trust, and starts for files of fleets", () => {
	const {capabilities, contributes, activationEvents} = manifest;
	assert.equal(capabilities.untrustedWorkspaces.supported, false);
	for (const [name, {scope}] of Object.entries(contributes.configuration.properties)) {
		assert.equal(scope, "machine-overridable", name);
	}
	// VS Code does not add the event of a language without a configuration.
	assert.deepEqual(activationEvents, ["onLanguage:cue", "workspaceContains:**/cue.mod/module.cue"]);
});

test("says why the server cannot start", async (t) => {
	assert.equal(await serverProblem(settings), undefined);
	const directory = temporary(t, {});
	for (const [name, changed, want] of [
		["missing", {path: join(directory, "fleetc")}, /fleetc was not found\. Install fleetc/],
		["not executable", {path: directory}, /cannot be executed\. Set fleetc\.path/],
		[
			"wrong flag",
			{args: ["--jobbs=1"]},
			/--jobbs=1 lsp does not start: unknown flag: --jobbs \[FL3001\]\. Check fleetc\.path and fleetc\.args/,
		],
		// fleetc answers this as it answers a command that it does not have yet.
		["too old", {args: ["unknown"]}, /has no language server: it is too old/],
	] as const) {
		const problem = await serverProblem({...settings, ...changed});
		assert.match(problem ?? "", want, name);
	}
});

/** A client of the server that the extension starts. */
class Client {
	readonly server: ChildProcess;
	readonly connection: lsp.ProtocolConnection;
	readonly registered: Promise<lsp.RegistrationParams>;
	private published = new Map<string, lsp.Diagnostic[]>();
	private wake = () => {};

	constructor(t: TestContext) {
		const {command, args} = serverCommand(settings);
		this.server = spawn(command, args, {stdio: ["pipe", "pipe", "inherit"]});
		t.after(() => this.server.kill());
		const {stdin, stdout} = this.server;
		assert.ok(stdin && stdout);
		this.connection = lsp.createProtocolConnection(stdout, stdin);
		this.connection.onNotification(lsp.PublishDiagnosticsNotification.type, ({uri, diagnostics}) => {
			this.published.set(uri, diagnostics);
			this.wake();
		});
		this.registered = new Promise((resolve) => {
			this.connection.onRequest(lsp.RegistrationRequest.type, (params) => resolve(params));
		});
		this.connection.listen();
	}

	/** Waits until the diagnostics of a file fulfil a condition. */
	async diagnostics(uri: string, fulfils: (d: lsp.Diagnostic[]) => boolean): Promise<lsp.Diagnostic[]> {
		for (;;) {
			const found = this.published.get(uri);
			if (found && fulfils(found)) {
				return found;
			}
			await new Promise<void>((resolve) => {
				this.wake = resolve;
			});
		}
	}
}

test("shows the faults of a fleet", {timeout: 60_000}, async (t) => {
	const dir = temporary(t, fleet);
	const uri = pathToFileURL(join(dir, clusterFile)).href;
	const client = new Client(t);
	const {serverInfo} = await client.connection.sendRequest(lsp.InitializeRequest.type, {
		processId: process.pid,
		rootUri: null,
		capabilities: {workspace: {didChangeWatchedFiles: {dynamicRegistration: true}}},
		workspaceFolders: [{uri: pathToFileURL(dir).href, name: "fleet"}],
	});
	assert.equal(serverInfo?.name, "fleetc");
	await client.connection.sendNotification(lsp.InitializedNotification.type, {});

	// The library's client watches what the server registers.
	const {registrations} = await client.registered;
	assert.equal(registrations[0]?.method, "workspace/didChangeWatchedFiles");

	await client.connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
		textDocument: {uri, languageId: "cue", version: 1, text: fleet[clusterFile] ?? ""},
	});
	const [fault] = await client.diagnostics(uri, (d) => d.length === 1);
	assert.match(JSON.stringify(fault?.message), /releases\.web\.namspace: field not allowed/);
	assert.deepEqual(fault?.range.start, {line: 3, character: 15});

	// An unsaved change, then another program writes the fault's repair to the file.
	await client.connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
		textDocument: {uri, version: 2},
		contentChanges: [{text: cluster}],
	});
	await client.diagnostics(uri, (d) => d.length === 0);
	await client.connection.sendNotification(lsp.DidCloseTextDocumentNotification.type, {textDocument: {uri}});
	await client.diagnostics(uri, (d) => d.length === 1);
	writeFileSync(join(dir, clusterFile), cluster);
	await client.connection.sendNotification(lsp.DidChangeWatchedFilesNotification.type, {
		changes: [{uri, type: lsp.FileChangeType.Changed}],
	});
	await client.diagnostics(uri, (d) => d.length === 0);

	const exited = once(client.server, "exit");
	await client.connection.sendRequest(lsp.ShutdownRequest.type);
	await client.connection.sendNotification(lsp.ExitNotification.type);
	assert.deepEqual(await exited, [0, null]);
});
