import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { startProgram, stopExamples } from './start-example.ts'

afterEach(stopExamples)

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const modelgate = here('../packages/cli/bin/modelgate.js')

describe.each([
  ['failoverbench', 'fb-s14-*'],
  ['onthebench', 'gpt-4o-mini-bedrock'],
])('examples/boards/%s', (board, model) => {
  it('has a configuration that the command serves', async () => {
    const config = here(`./boards/${board}/modelgate.config.json`)
    const server = startProgram(process.execPath, [modelgate, '--config', config, '--port', '0'])
    const [, root] = await server.waitForOutput(/listens on (http:\S+)/)
    await server.waitForOutput(new RegExp(model.replaceAll('*', '\\*')))
    expect((await fetch(`${root}/v1/nothing`, { headers: { authorization: 'Bearer dummy' } })).status).toBe(404)
  })

  it('is listed', () => {
    expect(readFileSync(here('./README.md'), 'utf8')).toContain(`](boards/${board})`)
  })
})

it('names models of its configuration in the definition for their engine', () => {
  const read = (file: string) => JSON.parse(readFileSync(here(`./boards/onthebench/${file}`), 'utf8'))
  const { models, port, token } = read('modelgate.config.json')
  const definition = read('definition.json')
  expect(Object.values(definition.egress_models)).toEqual(Object.keys(models))
  expect([definition.port, definition.auth]).toEqual([port, token])
})
