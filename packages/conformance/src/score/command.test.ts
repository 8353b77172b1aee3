import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeProvider, listen } from '@modelgate/testing'
import { expect, onTestFinished, test } from 'vitest'
import { checks } from './checks.ts'
import { command } from './command.ts'
import type { Report } from './report.ts'

const token = 'good-token-77e0'

/** Runs the command and returns its output and exit code. */
async function run(argv: readonly string[], { columns = 100, isTTY = false, env = {} } = {}) {
  const terminal = () => {
    const written: string[] = []
    return { write: (text: string) => written.push(text), columns, isTTY, text: () => written.join('') }
  }
  const [out, err] = [terminal(), terminal()]
  const code = await command(argv, out, err, env)
  return { code, out: out.text(), err: err.text() }
}

async function provider(): Promise<string> {
  const server = await listen(createFakeProvider({ apiKey: token, models: ['demo'], validate: false }))
  onTestFinished(() => server.close())
  return server.url
}

test.each([
  [[], 'Missing base URL of the server'],
  [['http://a.test', 'http://b.test'], "Unexpected argument 'http://b.test'"],
  [['nowhere'], "Invalid URL 'nowhere'"],
  [['http://a.test', '--only', 'chat,mail'], "Invalid value 'mail' of --only. Expected one of chat, messages"],
  [['http://a.test', '--concurrency', 'many'], "Invalid value 'many' of --concurrency. Expected a number from 1 to 64"],
  [['http://a.test', '--header', 'oops'], "Invalid value 'oops' of --header: no colon"],
  [['http://a.test', '--colour'], "Unknown option '--colour'"],
])('rejects %j as misuse with a message', async (argv, words) => {
  const { code, out, err } = await run(argv)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(words)
})

test('prints the cost of a run for --help, in lines that fit a terminal', async () => {
  const { code, out } = await run(['--help'])
  expect(code).toBe(0)
  expect(out).toMatch(/\d+ checks make at most \d+ calls, of about \d+ tokens/)
  expect(Math.max(...out.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(130)
})

test('prints the checks for --list without calling a server', async () => {
  const { code, out } = await run(['--list', '--only', 'chat,rerank'], { columns: 300 })
  const wanted = checks.filter(({ format }) => format === 'chat' || format === 'rerank')
  expect([code, out.trim().split('\n')]).toEqual([
    0,
    wanted.map(() => expect.stringMatching(/^(chat|rerank)\/\S+ +[A-Z].*\.$/)),
  ])
})

test("prints a plain-text table of the terminal's width that lists failed checks", async () => {
  const url = await provider()
  const { code, out, err } = await run([url, '--token', token, '--model', 'demo', '--only', 'chat,rerank'], {
    columns: 70,
  })
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(/^ {2}chat completions +\d+\/40$/m)
  expect(out).toMatch(/^ {2}rerank +– +skipped: no rerank/m)
  // The provider of this test runs without validation and accepts any value.
  expect(out).toMatch(/^Failed\n {2}chat\/bad-value +the call succeeded although/m)
  expect(Math.max(...out.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(70)
  expect(out).not.toContain('\u001b')
  expect(out).not.toContain(token)
})

test('shows progress on a terminal only, in one line that is cleared at the end', async () => {
  const url = await provider()
  const { err } = await run([url, '--model', 'demo', '--only', 'models'], {
    isTTY: true,
    env: { CONFORMANCE_TOKEN: token },
  })
  expect(err).toMatch(/5\/5 {2}0 failed {2}models\//)
  expect(err).not.toContain('\n')
  expect(err.endsWith('\r\u001b[K')).toBe(true)
})

test('writes the report as JSON to a file in addition to the table, or to standard output instead of it', async () => {
  const url = await provider()
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'report.json')
  const args = [url, '--token', token, '--model', 'demo', '--model', 'chat=other', '--only', 'models,chat', '--json']
  const beside = await run([...args, file])
  expect(beside.out).toMatch(/^ {2}models +5\/5$/m)
  const kept = JSON.parse(await readFile(file, 'utf8')) as Report
  const instead = JSON.parse((await run([...args, '-'])).out) as Report
  for (const report of [kept, instead]) {
    expect(report.models).toMatchObject({ text: 'demo', chat: 'other' })
    expect(report.results.find(({ name }) => name === 'chat/text')?.why).toContain('404: The model `other`')
    expect(JSON.stringify(report)).not.toContain(token)
  }
})

test('sets the exit code according to --fail-under', async () => {
  const url = await provider()
  const args = [url, '--token', token, '--model', 'demo', '--only', 'chat', '--fail-under']
  expect([(await run([...args, '50'])).code, (await run([...args, '99.9'])).code]).toEqual([0, 1])
})
