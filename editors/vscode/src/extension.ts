import {dirname} from "node:path";
import * as vscode from "vscode";
import {LanguageClient} from "vscode-languageclient/node";
import {documentSelector, isFleet, isInFleet, type Settings, serverCommand, serverProblem} from "./server";

let client: LanguageClient | undefined;
let pending: Promise<void> = Promise.resolve(); // ends when the last start or stop has ended

export function activate(context: vscode.ExtensionContext): void {
	context.subscriptions.push(
		vscode.commands.registerCommand("fleetc.restart", () => inOrder(start)),
		vscode.workspace.onDidChangeConfiguration((change) => {
			if (change.affectsConfiguration("fleetc")) {
				inOrder(restart);
			}
		}),
		vscode.workspace.onDidOpenTextDocument((document) => inOrder(() => startFor([document]))),
		vscode.workspace.onDidChangeWorkspaceFolders(() => inOrder(startForWorkspace)),
	);
	inOrder(() => startFor(vscode.workspace.textDocuments));
	inOrder(startForWorkspace);
}

export async function deactivate(): Promise<void> {
	await inOrder(stop);
}

/** Runs a step after the earlier ones. */
function inOrder(step: () => Promise<void>): Promise<void> {
	pending = pending.then(step).catch((error) => {
		vscode.window.showErrorMessage(`fleetc: ${error instanceof Error ? error.message : error}`);
	});
	return pending;
}

/** Starts the server if a document is in a fleet. */
async function startFor(documents: readonly vscode.TextDocument[]): Promise<void> {
	const matches = (d: vscode.TextDocument) => vscode.languages.match(documentSelector, d) > 0;
	if (!started && documents.some((d) => matches(d) && isInFleet(dirname(d.uri.fsPath)))) {
		await start();
	}
}

/** Starts the server if the workspace has a fleet. */
async function startForWorkspace(): Promise<void> {
	if (started) {
		return;
	}
	const modules = await vscode.workspace.findFiles("**/cue.mod/module.cue", "**/node_modules/**");
	if (modules.some((m) => isFleet(dirname(dirname(m.fsPath))))) {
		await start();
	}
}

/** Whether the server has been started once, also without success: only a restart or new settings try again. */
let started = false;

async function restart(): Promise<void> {
	if (started) {
		await start();
	}
}

/** Starts the server, or stops it first. */
async function start(): Promise<void> {
	started = true;
	await stop();
	const configuration = vscode.workspace.getConfiguration("fleetc");
	const settings: Settings = {path: configuration.get("path", "fleetc"), args: configuration.get("args", [])};
	const problem = await serverProblem(settings);
	if (problem) {
		report(problem);
		return;
	}
	client = new LanguageClient("fleetc", "fleetc", serverCommand(settings), {documentSelector});
	await client.start();
}

async function stop(): Promise<void> {
	const old = client;
	client = undefined;
	await old?.dispose();
}

/** Shows why the server does not run. It does not wait for the user. */
function report(problem: string): void {
	const open = "Open Settings";
	vscode.window.showErrorMessage(problem, open).then((chosen) => {
		if (chosen === open) {
			vscode.commands.executeCommand("workbench.action.openSettings", "fleetc");
		}
	});
}
