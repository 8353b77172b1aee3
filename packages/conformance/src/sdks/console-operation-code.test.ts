import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import {
  embeddingsCalls,
  imagesCalls,
  type OperationCalls,
  type OperationDraft,
  readRequest,
  rerankCalls,
  speechCalls,
  transcriptionCalls,
} from '@modelgate/console/test-support'
import { cohere, createGateway, openai } from '@modelgate/core'
import { createFakeProvider, type FormPart } from '@modelgate/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { upstreamKey } from '../base/gateways.ts'
import { canRunPython, codeRunners, type Runner } from './code-runners.ts'

// Runs the code of the Playground's tabs like a reader would: with the official SDKs, with Python and with curl.

const token = 'mg-secret-token'
const here = mkdtempSync(join(tmpdir(), 'modelgate-operation-code-'))
symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(here, 'node_modules'))
afterAll(() => rmSync(here, { recursive: true, force: true }))
const runners = codeRunners(here, token)

const provider = createFakeProvider({ apiKey: upstreamKey })
const gateway = createGateway({
  auth: (given) => (given === token ? { id: 'me' } : null),
  upstreams: {
    openai: openai({ apiKey: upstreamKey, baseURL: 'http://provider.test/v1' }),
    cohere: cohere({ apiKey: upstreamKey, baseURL: 'http://provider.test' }),
  },
  models: { 'demo-rerank': 'cohere', 'demo-*': 'openai' },
  fetch: provider.fetch,
  logger: false,
})
const paths: string[] = []
const server = createServer(
  getRequestListener((request) => {
    paths.push(new URL(request.url).pathname)
    return gateway.fetch(request)
  }),
)
let base = ''
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  provider.reset()
  paths.length = 0
})

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const sound = Buffer.alloc(32_000, 1)
// The names under which the code reads the files.
writeFileSync(join(here, 'a dot.png'), pixel)
writeFileSync(join(here, 'it_s a sound.mp3'), sound)
const dot = new File([pixel], 'a dot.png', { type: 'image/png' })
const speech = new File([sound], "it's a sound.mp3", { type: 'audio/mpeg' })

interface Case {
  readonly name: string
  /** Makes the current request of a tab. */
  readonly current: () => ReturnType<typeof readRequest>
  readonly snippets: OperationCalls<OperationDraft>['snippets']
  /** What the code prints. Absent: nothing. */
  readonly prints?: RegExp
  /** The file that SDKs save. curl and code without SDKs may print the response instead. */
  readonly saves?: { readonly name: string; readonly start: string; readonly by: 'all' | 'sdks' }
}

const make = <D extends OperationDraft>(
  name: string,
  calls: OperationCalls<D>,
  more: Partial<D>,
  files: readonly File[],
  { prints, saves }: Pick<Case, 'prints' | 'saves'>,
): Case => ({
  name,
  current: () => readRequest(calls, { ...calls.firstDraft, ...more }, files),
  snippets: calls.snippets,
  ...(prints === undefined ? {} : { prints }),
  ...(saves === undefined ? {} : { saves }),
})

const words = `It's "quoted", $HOME \`x\` \\n and\na line, @héllo 👍`
const extra = '{"user":"me"}'
const cases: readonly Case[] = [
  make('embeddings', embeddingsCalls, { model: 'demo-embedding', texts: [words, 'b'], dimensions: '8', extra }, [], {
    prints: /"embedding"/,
  }),
  make('an image', imagesCalls, { model: 'demo-image', prompt: words, size: '64x64', count: '2' }, [], {
    saves: { name: 'image-2.png', start: '\u0089PNG', by: 'sdks' },
  }),
  make('a streamed image', imagesCalls, { model: 'demo-image', prompt: words, size: '64x64', stream: true }, [], {
    prints: /image_generation\.completed/,
    saves: { name: 'image.png', start: '\u0089PNG', by: 'sdks' },
  }),
  make('an edited image', imagesCalls, { model: 'demo-image', prompt: words, size: '64x64' }, [dot], {
    saves: { name: 'image-1.png', start: '\u0089PNG', by: 'sdks' },
  }),
  make('several edited images', imagesCalls, { model: 'demo-image', prompt: '@a.txt', size: '64x64' }, [dot, dot], {
    saves: { name: 'image-1.png', start: '\u0089PNG', by: 'sdks' },
  }),
  make('speech', speechCalls, { model: 'demo-speech', text: words, format: 'wav', speed: '1.5' }, [], {
    saves: { name: 'speech.wav', start: 'RIFF', by: 'all' },
  }),
  make(
    'a transcript',
    transcriptionCalls,
    {
      model: 'demo-transcribe',
      language: 'de',
      prompt: words,
      stream: false,
      temperature: '0.5',
      extra: '{"include":["logprobs"]}',
    },
    [speech],
    { prints: /"text": "I heard/ },
  ),
  make(
    'a transcript with times',
    transcriptionCalls,
    { model: 'demo-transcribe', format: 'verbose_json', words: true },
    [speech],
    { prints: /"segments"/ },
  ),
  make('a streamed transcript', transcriptionCalls, { model: 'demo-transcribe' }, [speech], {
    prints: /transcript\.text\.done/,
  }),
  make('subtitles', transcriptionCalls, { model: 'demo-transcribe', format: 'srt' }, [speech], { prints: /-->/ }),
  make('rerank', rerankCalls, { model: 'demo-rerank', query: words, documents: ['a', 'b'], topN: '1' }, [], {
    prints: /"relevance_score"/,
  }),
  make(
    'rerank in Cohere’s format',
    rerankCalls,
    { model: 'demo-rerank', query: words, documents: ['a', 'b'], topN: '1', format: 'rerank-v2' },
    [],
    { prints: /"relevance_?score"/i },
  ),
]

/** Fields and files of a form, in any order: clients send files first or last. Forms of JavaScript have other line ends. */
const formOf = (parts: readonly FormPart[]): unknown[] =>
  parts
    .map(({ name, filename, bytes }) =>
      filename === undefined
        ? `${name}: ${Buffer.from(bytes).toString().replaceAll('\r\n', '\n')}`
        : `${name}: ${filename} ${Buffer.from(bytes).toString('base64')}`,
    )
    .sort()

const kinds: readonly Runner[] = ['curl', 'sdk', 'fetch', 'python', 'python-sdk']

describe.each(cases)('Playground code for $name', ({ current, snippets, prints, saves }) => {
  it.each(kinds.filter((kind) => !kind.startsWith('python') || canRunPython('')))(
    'repeats the call and prints or saves its response, as %s',
    async (kind) => {
      const { api, request, missing, wrongs } = current()
      expect([missing, wrongs]).toEqual([undefined, {}])
      const code = snippets({ format: api, request, base, withToken: true }).find(({ id }) => id === kind)?.code ?? ''
      expect(code).not.toContain(token)
      const module = /^(?:from|import) (openai|cohere)\b/m.exec(code)?.[1]
      if (kind === 'python-sdk' && !canRunPython(`import ${module}`)) {
        await runners.compilePython(code)
        return
      }
      for (const name of readdirSync(here))
        if (name.startsWith('image') || name.startsWith('speech')) rmSync(join(here, name))
      const out = await runners[kind](code)
      expect(paths).toEqual([request.path])
      const [sent] = provider.requests
      if (request.files === undefined)
        // The upstream's own format leaves the request as it is.
        expect(sent?.body).toMatchObject(request.path === '/v1/rerank' ? { model: 'demo-rerank' } : request.body)
      else {
        const form = new FormData()
        for (const [name, value] of Object.entries(request.body))
          for (const item of Array.isArray(value) ? value : [value])
            form.append(
              Array.isArray(value) ? `${name}[]` : name,
              typeof item === 'string' ? item : JSON.stringify(item),
            )
        const wanted: FormPart[] = [...form].map(([name, value]) => ({
          name,
          filename: undefined,
          contentType: '',
          bytes: Buffer.from(String(value)),
        }))
        const files = request.files.map(({ field, file }) => ({
          name: field,
          filename: file === speech ? 'it_s a sound.mp3' : file.name,
          contentType: file.type,
          bytes: file === speech ? sound : pixel,
        }))
        expect(formOf(sent?.form ?? [])).toEqual(formOf([...wanted, ...files]))
      }
      const isSdk = kind.endsWith('sdk')
      if (prints !== undefined && (isSdk || saves === undefined)) expect(out).toMatch(prints)
      if (saves !== undefined && (saves.by === 'all' || isSdk))
        expect(readFileSync(join(here, saves.name), 'latin1').slice(0, 4)).toBe(saves.start)
    },
  )

  it('needs no variable for an open gateway', () => {
    const { api, request } = current()
    for (const { code } of snippets({ format: api, request, base, withToken: false }))
      expect(code).not.toContain('MODELGATE_TOKEN')
  })
})
