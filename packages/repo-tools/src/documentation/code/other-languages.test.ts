import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { parse as parseToml } from 'smol-toml'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { root } from '../../base/workspace.mjs'
import { startFakeProviders } from '../../packed/fake-providers.mjs'
import { followed } from '../../stranger/followed-pages.mjs'
import { type Block, blocks, isCode } from '../pages.mjs'
import { binOf, callByCurl, isCurl, shellComplaints } from './shell.ts'

/** Check of a block: throws or returns the problem. */
type Check = (text: string, page: string) => string | undefined

const has = (program: string): boolean => spawnSync(program, ['-v']).error === undefined

/** The program can be in a folder that is only on root's PATH. */
const nginxProgram = ['nginx', '/usr/sbin/nginx'].find(has)

/** Returns true if the program accepts the text on standard input. */
const takes = (program: string, args: readonly string[], text: string): string | undefined => {
  const { status, stderr, error } = spawnSync(program, args, { input: text, encoding: 'utf8' })
  return status === 0 ? undefined : (error?.message ?? stderr)
}

/** Completes a server block to a configuration, with other ports and without the reader's certificate. */
function nginx(program: string, text: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-nginx-'))
  const file = join(folder, 'nginx.conf')
  const part = text
    .replaceAll(/listen \d+( ssl)?[^;]*;/g, 'listen 127.0.0.1:65535;')
    .replaceAll(/^\s*ssl_\w+ .*$/gm, '')
  const logs = `pid ${folder}/pid; error_log stderr;`
  writeFileSync(
    file,
    /^\s*http\s*\{/m.test(part) ? `${logs}\n${part}` : `${logs} events {}\nhttp { access_log off;\n${part}\n}`,
  )
  const { status, stderr } = spawnSync(program, ['-t', '-p', folder, '-c', file], { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  return status === 0 ? undefined : stderr
}

const checks: Record<string, Check> = {
  json: (text) => void JSON.parse(text),
  jsonc: (text) => {
    const { error } = ts.parseConfigFileTextToJson('block.jsonc', text)
    return error && ts.flattenDiagnosticMessageText(error.messageText, ' ')
  },
  yaml: (text) => void parseYaml(text),
  toml: (text) => void parseToml(text),
  ini: (text) => (Object.keys(parseEnv(text)).length > 0 ? undefined : 'no line KEY=value'),
  python: (text) =>
    has('python3') ? takes('python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], text) : undefined,
  nginx: (text) => (nginxProgram === undefined ? undefined : nginx(nginxProgram, text)),
  dockerfile: (text, page) => {
    const lines = text
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n')
      .filter((line) => /^[^#\s]/.test(line))
    const odd = lines.filter(
      (line) =>
        !/^(?:FROM|ARG|RUN|CMD|COPY|ENV|EXPOSE|USER|WORKDIR|ENTRYPOINT|HEALTHCHECK|VOLUME|LABEL|STOPSIGNAL) \S/.test(
          line,
        ),
    )
    const commands = lines.flatMap((line) => (line.startsWith('RUN ') ? [line.slice(4)] : []))
    if (odd.length > 0 || !lines[0]?.startsWith('FROM ')) return `no instruction: ${odd[0] ?? lines[0]}`
    return shellComplaints(commands.join('\n'), page)
  },
  sh: (text, page) => takes('bash', ['-n'], text) ?? shellComplaints(text, page),
}

/** `npm run stranger` runs the commands of these pages with packed packages. */
const byTheStranger = (page: string): boolean => followed.some((one) => one.page === page)

/** Output of programs and diagrams: nothing to check. */
const shown = new Set(['', 'text', 'console', 'http', 'diff'])

function complaint({ language, text, place, page }: Block): string[] {
  try {
    const complaint = checks[language]?.(text, page)
    return complaint === undefined ? [] : [`${place}: ${complaint}`]
  } catch (error) {
    return [`${place}: ${error instanceof Error ? error.message : error}`]
  }
}

const others = blocks.filter((block) => !isCode(block) && block.mark?.kind !== 'shown only')

describe('blocks in other languages', () => {
  const lacks = [
    ...['python3', 'curl'].filter((program) => !has(program)),
    ...(nginxProgram === undefined ? ['nginx'] : []),
  ]
  for (const program of lacks) console.log(`no ${program} here: its blocks are not tried`)

  it('have a language that is checked', () => {
    const known = new Set([...Object.keys(checks), ...shown])
    const unknown = others.filter(({ language }) => !known.has(language))
    expect(unknown.map(({ place, language }) => `${place}: nobody looks at ${language}`)).toEqual([])
  })

  it('are well-formed and name existing commands', () => {
    expect(others.flatMap(complaint)).toEqual([])
  })

  it.each([
    ['json', '{ "a": 1, }'],
    ['jsonc', '{ "a": 1 // one\n'],
    ['yaml', 'a: [1'],
    ['toml', 'a = '],
    ['ini', 'nothing'],
    ['dockerfile', 'FROM node:22\nRAN npm install'],
    ['sh', "echo 'open"],
    ['sh', 'npx modelgate begin'],
    ['sh', 'npm run dance'],
    ['sh', 'npm install @modelgate/telepathy'],
    ...(has('python3') ? [['python', 'def f(:']] : []),
    ...(nginxProgram !== undefined ? [['nginx', 'server { listen 80; proxy_bufering off; }']] : []),
  ])('are reported if invalid: %s %s', (language = '', text = '') => {
    expect(complaint({ language, text, place: 'here:1', page: 'here' })).toEqual([expect.stringContaining('here:1: ')])
  })
})

describe.runIf(has('curl'))('curl calls', () => {
  it('succeed', async () => {
    const calls = others.filter(({ text, language, page }) => language === 'sh' && isCurl(text) && !byTheStranger(page))
    const reported = await callByCurl(calls.map(({ text }) => text))
    expect(calls.flatMap(({ place }, i) => (reported[i] === undefined ? [] : [`${place}: ${reported[i]}`]))).toEqual([])
    expect(calls.length).toBeGreaterThan(0)
  })

  it('are reported if they fail', async () => {
    const reported = await callByCurl(['curl http://localhost:8787/v1/chat', 'curl http://localhost:8787/v1/models'])
    expect(reported).toEqual([expect.stringContaining('404'), expect.stringContaining('401')])
  })
})

describe('configurations of the command', () => {
  const configurations = others.filter(({ file, page }) => file === 'modelgate.config.json' && !byTheStranger(page))

  /** Runs the command with local fake providers; returns its output if it failed. */
  const check = (text: string, env: Record<string, string>): Promise<string | undefined> => {
    const folder = mkdtempSync(join(tmpdir(), 'modelgate-config-'))
    const file = join(folder, 'modelgate.config.json')
    writeFileSync(file, text)
    const wanted = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'a-key-of-the-reader'])
    const options = { cwd: folder, env: { ...process.env, ...env, ...Object.fromEntries(wanted) } }
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        [binOf(join(root, 'packages/cli'), 'modelgate'), 'check', '--config', file],
        options,
        (error, ...messages) => {
          rmSync(folder, { recursive: true })
          resolve(error === null ? undefined : messages.join(''))
        },
      )
    })
  }

  it('are accepted by `modelgate check`', async () => {
    const home = await startFakeProviders()
    const reported = await Promise.all(configurations.map(({ text }) => check(text, home.env)))
    const wrong = await check('{ "upstreams": { "a": { "provider": "opanai" } }, "models": {} }', home.env)
    await home.close()
    expect(
      configurations.flatMap(({ place }, i) => (reported[i] === undefined ? [] : [`${place}: ${reported[i]}`])),
    ).toEqual([])
    expect(wrong).toContain('opanai')
    expect(configurations.length).toBeGreaterThan(0)
  })
})
