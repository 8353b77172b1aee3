import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Format, formats as upstreams } from './fixtures.ts'
import { anthropicCases } from './sdk-anthropic.ts'
import { type Case, createSetting, type Setting } from './sdk-context.ts'
import { endingCases } from './sdk-endings.ts'
import { googleCases } from './sdk-gemini.ts'
import { mediaCases } from './sdk-media.ts'
import { openaiCases } from './sdk-openai.ts'
import { responsesCases } from './sdk-responses.ts'
import { thinkingCases } from './sdk-thinking.ts'
import { parsingServers, servers } from './servers.ts'

const shared = (client: Format): readonly Case[] => [
  ...thinkingCases(client),
  ...endingCases(client),
  ...mediaCases(client),
]
/** The official clients. OpenAI's has two formats. */
const clients: Readonly<Record<string, readonly Case[]>> = {
  'openai SDK, chat completions': [...openaiCases, ...shared('chat')],
  'openai SDK, responses': [...responsesCases, ...shared('responses')],
  'anthropic SDK': [...anthropicCases, ...shared('messages')],
  'google SDK': [...googleCases, ...shared('gemini')],
}
/** What no server has a hand in is shown over a socket and without one. */
const rareOn = new Set(['node:http', 'in process'])
let passed = 0

const all = [...servers, ...parsingServers]

for (const server of all)
  describe.each(upstreams)(`${server.name}, upstream %s`, (upstream) => {
    let setting: Setting
    beforeAll(async () => {
      setting = await createSetting(server, upstream)
    })
    afterAll(() => setting.close())
    // What a case leaves behind at the upstream would be the next one's riddle.
    afterEach(() => setting.fake.reset())

    for (const [client, cases] of Object.entries(clients))
      describe(`the ${client}`, () => {
        test.each(cases.filter(({ rare }) => rare !== true || rareOn.has(server.name)))('$name', async ({ run }) => {
          await run(setting)
          passed++
        })
      })
  })

test('a host keeps its own routes', async () => {
  for (const server of servers.filter(({ hosted }) => hosted)) {
    const setting = await createSetting(server, 'chat')
    try {
      for (const name of ['before', 'after'])
        expect(await (await fetch(`${setting.origin}/${name}`)).text(), server.name).toBe(name)
    } finally {
      await setting.close()
    }
  }
})

afterAll(() =>
  console.log(
    `sdk: ${passed} cases passed over ${all.length} servers × ${upstreams.length} upstream formats × ${Object.keys(clients).length} SDKs`,
  ),
)
