import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { anthropic, createGateway, gemini, openai } from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import { createFakeProvider } from '@modelgate/testing'
import { commands } from 'modelgate/test-support'
import { readJson, root, workspaceDirs } from '../../base/workspace.mjs'
import { curlSettings } from '../curl-settings.mjs'

const published = new Set(
  workspaceDirs(['packages'])
    .map((dir) => readJson(`${dir}/package.json`))
    .filter((manifest) => manifest.private !== true)
    .map(({ name }) => name),
)

/** Returns the commands of a block, one per line, without comments. */
const commandsIn = (text: string): string[] =>
  text
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')

/** Returns the npm scripts of the repository and of the page's example. */
const scriptsOf = (page: string): Record<string, string> =>
  Object.assign(
    {},
    ...[dirname(page), '.']
      .map((dir) => `${dir}/package.json`)
      .map((file) => (existsSync(join(root, file)) ? readJson(file).scripts : {})),
  )

/** Returns packages, scripts and commands of ours that a shell block names but that do not exist. */
export function shellComplaints(text: string, page: string): string | undefined {
  const scripts = scriptsOf(page)
  const complaints = commandsIn(text).flatMap((line) => {
    const [, command] = /(?:^|\s)npx modelgate(?: ([a-z]\w*))?(?=\s|$)/.exec(line) ?? []
    const [, script] = /(?:^|\s)npm run ([\w:-]+)/.exec(line) ?? []
    const named = /^(?:npm (?:install|i)|npx|bun add|pnpm add|yarn add)\s/.test(line)
      ? (line.match(/@modelgate\/[\w-]+/g) ?? [])
      : []
    return [
      ...(command === undefined || Object.hasOwn(commands, command)
        ? []
        : [`there is no command modelgate ${command}`]),
      ...(script === undefined || scripts[script] !== undefined ? [] : [`there is no script ${script}`]),
      ...named.filter((name) => !published.has(name)).map((name) => `there is no package ${name}`),
    ]
  })
  return complaints.length === 0 ? undefined : complaints.join('; ')
}

/** Returns true if the block only calls the pages' port with curl. */
export const isCurl = (text: string): boolean => {
  const lines = commandsIn(text)
  return (
    lines.length > 0 && lines.every((line) => line.startsWith('curl ') && /(?:localhost|127\.0\.0\.1):8787/.test(line))
  )
}

/** Runs curl blocks against a gateway, also below /ai; returns rejected calls. */
export async function callByCurl(texts: readonly string[]): Promise<(string | undefined)[]> {
  const gateway = createGateway({
    auth: (token) => (token === 'my-token' || token === 'demo-token' ? { id: 'reader' } : null),
    upstreams: { openai: openai({ apiKey: 'k' }), claude: anthropic({ apiKey: 'k' }), google: gemini({ apiKey: 'k' }) },
    models: { 'claude-*': 'claude', 'gemini-*': 'google', '*': 'openai' },
    fetch: createFakeProvider().fetch,
  })
  const listener = nodeListener(gateway)
  const server = http.createServer((request, response) => {
    request.url = request.url?.replace(/^\/ai(?=\/)/, '')
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-curl-'))
  writeFileSync(join(folder, '.curlrc'), curlSettings(port))
  const env = { ...process.env, CURL_HOME: folder, TOKEN: 'my-token', MODEL: 'gpt-5', GATEWAY_TOKEN: 'my-token' }
  const results = await Promise.all(
    texts.map(
      (text) =>
        new Promise<string | undefined>((resolve) => {
          execFile('bash', ['-euc', text], { cwd: folder, env }, (error, stdout, stderr) =>
            resolve(error === null ? undefined : `${stdout}${stderr}`),
          )
        }),
    ),
  )
  server.close()
  server.closeAllConnections()
  await gateway.close()
  rmSync(folder, { recursive: true })
  return results
}

export const binOf = (dir: string, name: string): string => {
  const { bin } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
  return join(dir, bin[name])
}
