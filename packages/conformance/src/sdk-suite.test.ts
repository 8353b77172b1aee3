import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { WireFormat } from './fixtures.ts'
import { anthropicCases } from './sdk-anthropic.ts'
import { createSetting, type Setting } from './sdk-context.ts'
import { openaiCases } from './sdk-openai.ts'
import { parsingServers, servers } from './servers.ts'

const upstreams: readonly WireFormat[] = ['chat', 'messages']
const clients = { openai: openaiCases, anthropic: anthropicCases }
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
      describe(`the ${client} SDK`, () => {
        test.each(cases)('$name', async ({ run }) => {
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

afterAll(() => console.log(`sdk: ${passed} cases passed over ${all.length} servers × 2 upstream formats × 2 SDKs`))
