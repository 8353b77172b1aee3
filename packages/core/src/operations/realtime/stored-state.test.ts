import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import { resolveReferences } from '../../config/references.ts'
import { storedStateCheck } from './stored-state.ts'

const prompt = { id: 'pmpt_1' }
const withFile = { id: 'pmpt_own', variables: { chart: { type: 'input_file', file_id: 'file_1' } } }

/** Returns the error of a message; undefined if it is accepted. */
function errorOf(message: object | string, references = {}, isBinary = false): GatewayError | undefined {
  const text = typeof message === 'string' ? message : JSON.stringify(message)
  try {
    storedStateCheck(resolveReferences(references))?.(text, isBinary)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  return undefined
}

describe('a prompt template in a message', () => {
  it.each([
    [
      'an update of the session',
      { type: 'session.update', session: { type: 'realtime', prompt } },
      'session.prompt.id',
    ],
    ['a response', { type: 'response.create', response: { prompt } }, 'response.prompt.id'],
    ['another spelling', { type: 'session.update', Session: { prompt } }, 'Session'],
    ['a list', { type: 'session.update', session: { prompt: { id: ['pmpt_1'] } } }, 'session.prompt.id'],
    ['an escaped name', '{"type":"session.update","session":{"\\u0070rompt":{"id":"pmpt_1"}}}', 'session.prompt.id'],
    ['a duplicate', '{"session":{"prompt":{"id":"pmpt_1"}},"session":{}}', 'session'],
    ['a file of a variable', { response: { prompt: withFile } }, 'response.prompt.variables.chart.file_id'],
  ])('is rejected in %s', (_place, message, param) => {
    const references = { prompts: ['pmpt_own'] }
    expect(errorOf(message, references)?.info).toMatchObject({ kind: 'invalid_request', param })
    expect(errorOf(message, references, true)?.info.param).toBe(param)
  })

  it('is rejected with the setting that accepts it', () => {
    expect(errorOf({ response: { prompt } })?.message).toMatch(
      /response\.prompt\.id: prompt template with id 'pmpt_1' not found\. .*'references\.prompts'/,
    )
  })

  it.each([{ prompts: ['pmpt_1'] }, { prompts: 'pass' }, { prompts: 'pass', files: 'pass' }])(
    'is accepted with references: %j',
    (references) => {
      expect(errorOf({ type: 'session.update', session: { prompt } }, references)).toBeUndefined()
    },
  )

  it('is rejected in a text that is not JSON', () => {
    expect(errorOf('{"session":{"prompt":{"id":"pmpt_1"}},}')?.message).toContain('not valid JSON')
  })
})

it.each([
  { type: 'input_audio_buffer.append', audio: 'prompt' },
  { type: 'conversation.item.create', item: { type: 'message', role: 'user', content: [{ text: 'a "prompt": id' }] } },
  { type: 'session.update', session: { prompt: null } },
  '\u0000\u0001 binary audio',
])('accepts %j, which has no reference', (message) => {
  expect(errorOf(message)).toBeUndefined()
})
