import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installedExample } from './installed-example.ts'
import { startProgram, stopExamples } from './start-example.ts'

const folder = await installedExample('langchain-ai-sdk')

describe.skipIf(folder === undefined)('examples/langchain-ai-sdk, installed with npm', () => {
  let origin = ''
  const start = (file: string) =>
    startProgram(process.execPath, [join(folder ?? '', file)], { MODELGATE_URL: origin }, folder)
  beforeAll(async () => {
    const [, output = ''] = await start('gateway.js').waitForOutput(/(http:\S+)\/v1 with the token/)
    origin = output
  })
  afterAll(stopExamples)

  it.each([
    ['langchain.js', ['ChatOpenAI', 'ChatAnthropic', 'ChatGoogleGenerativeAI']],
    ['ai-sdk.js', ['openai, responses', 'openai, chat completions', 'anthropic', 'google']],
  ])('%s: text, stream and tools from models of other vendors', async (file, names) => {
    const example = start(file)
    const code = await example.ended
    const hello = 'You said: “Say hello in one sentence.”'
    expect(example.output().trimEnd().split('\n')).toEqual(
      names.flatMap((name) => [
        expect.stringContaining(`${name}, text: ${hello}`),
        expect.stringContaining(`${name}, stream: ${hello}`),
        expect.stringMatching(new RegExp(`^${name}, tools: .*It is sunny in \\w+`)),
      ]),
    )
    expect(code).toBe(0)
  })

  it('ai-sdk-in-process.js: text, stream, tools, structured output, embedding and an error without a server', async () => {
    const example = startProgram(process.execPath, [join(folder ?? '', 'ai-sdk-in-process.js')], {}, folder)
    const code = await example.ended
    const hello = 'You said: “Say hello in one sentence.”'
    const names = ['gpt-5', 'claude-opus-5', 'gemini-3-flash']
    // The demo's Gemini does not sign its calls. The SDK warns about that.
    const lines = example
      .output()
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('AI SDK Warning'))
    expect(lines).toEqual([
      ...names.flatMap((name) => [
        expect.stringContaining(`${name}, text: ${hello}`),
        expect.stringContaining(`${name}, stream: ${hello}`),
        expect.stringMatching(new RegExp(`^${name}, tools: .*It is sunny in \\w+`)),
        `${name}, object: string`,
      ]),
      'embedding: true',
      'unknown key: 401',
    ])
    expect(code).toBe(0)
  })
})
