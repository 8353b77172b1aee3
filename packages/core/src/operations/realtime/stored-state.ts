import { GatewayError } from '../../base/errors.ts'
import { acceptsReference, type ReferencePolicy } from '../../config/references.ts'
import { findReferences, unknownReferenceError } from '../../formats/references/find.ts'
import { type MessageCheck, parse } from './messages.ts'

/** All references in messages are below a member `prompt` or `voice`. Most messages are audio without one. An escape may hide a letter. */
const mayRefer = (text: string): boolean => /prompt|voice/i.test(text) || text.includes('\\u')

/**
 * Returns the check of references to stored state in a client's messages: prompt templates, files of their variables, and custom voices. No response contains
 * their ids, so the gateway knows no owner, and accepts only those that the configuration accepts. Undefined if it accepts all.
 */
export function storedStateCheck(policy: ReferencePolicy): MessageCheck | undefined {
  if (policy.prompts === 'pass' && policy.files === 'pass' && policy.voices === 'pass') return undefined
  return (text) => {
    if (!mayRefer(text)) return
    const event = parse(text)
    // A tolerant parser at the upstream may accept invalid JSON.
    if (event === undefined)
      throw new GatewayError(
        'invalid_request',
        'The message is not valid JSON, so the prompt template or voice that it refers to cannot be checked.',
      )
    for (const { kind, id, at } of findReferences('realtime-sessions', text, event))
      if (!acceptsReference(policy, kind, id)) throw unknownReferenceError(kind, id, at)
  }
}
