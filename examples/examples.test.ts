import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { bundledWorker, runtime } from './runtimes.ts'
import { type Running, startExample, startProgram, stopExamples } from './start-example.ts'

afterEach(stopExamples)
const folder = mkdtempSync(join(tmpdir(), 'modelgate-examples-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Place {
  readonly root: string
  readonly token: string
}

const saidPlace = async (example: Running): Promise<Place> => {
  const [, root = '', token = ''] = await example.waitForOutput(/(http:\S+)\/v1 with the token (\S+)/)
  return { root, token }
}

const startOnNode = (name: string) => () => saidPlace(startExample(`./${name}/main.js`))
const startOn = (name: string, program: string, args: string[]) => () =>
  saidPlace(startProgram(program, [...args, fileURLToPath(new URL(`./${name}/main.js`, import.meta.url))]))
const startWorker = (program: string, main?: string) => async () => {
  const example = startProgram(program, ['serve', await bundledWorker('workers', folder, main), '--control-fd=1'])
  const [, port] = await example.waitForOutput(/"socket":"http","port":(\d+)/)
  return { root: `http://127.0.0.1:${port}`, token: 'demo-token' }
}

const [bun, deno, workerd] = await Promise.all(['bun', 'deno', 'workerd'].map(runtime))
const starts: readonly (readonly [string, () => Promise<Place>])[] = [
  ['express', startOnNode('express')],
  ['fastify', startOnNode('fastify')],
  ['hono', startOnNode('hono')],
  ...(bun === undefined ? [] : ([['bun', startOn('bun', bun, [])]] as const)),
  ...(deno === undefined
    ? []
    : ([['deno', startOn('deno', deno, ['run', '--no-prompt', '--allow-net', '--allow-env'])]] as const)),
  ...(workerd === undefined
    ? []
    : ([
        ['workers', startWorker(workerd)],
        ['workers, chat only', startWorker(workerd, 'src/chat.js')],
      ] as const)),
]

const messages = [{ role: 'user', content: 'hello' }]

describe.each(starts)('examples/%s', (_, start) => {
  it('serves the gateway in addition to its own routes', async () => {
    const { root, token } = await start()
    const post = (headers: Record<string, string>, more = {}) =>
      fetch(`${root}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'claude-opus-5', messages, ...more }),
      })
    const authorization = `Bearer ${token}`
    const answered = await post({ authorization })
    expect(answered.status).toBe(200)
    expect(await answered.json()).toMatchObject({ object: 'chat.completion', choices: [{ finish_reason: 'stop' }] })
    const streamed = await post({ authorization }, { stream: true })
    expect(streamed.headers.get('content-type')).toContain('text/event-stream')
    expect(await streamed.text()).toMatch(/"finish_reason":"stop"[\s\S]*\n\ndata: \[DONE\]\n\n$/)
    expect((await post({})).status).toBe(401)
    expect(await (await fetch(root)).text()).toBe('The rest of your app.')
    expect((await fetch(`${root}/nothing`)).status).toBe(404)
  })
})

describe('examples/in-process', () => {
  it('responds to all four SDKs without a server', async () => {
    const example = startExample('./in-process/main.js')
    expect(await example.ended).toBe(0)
    const output = example.output().trimEnd().split('\n')
    const names = [
      'openai SDK, chat completions, claude-opus-5',
      'openai SDK, responses, claude-opus-5',
      'anthropic SDK, gpt-5',
      'google SDK, gpt-5',
    ]
    expect(output).toEqual([
      'Demo: no provider key is set, so a fake provider responds.',
      ...names.map((name) => expect.stringMatching(`^${name}: You said: “Say hello in one sentence.”`)),
    ])
  })
})
