import type { UpstreamFormat } from '../../base/names.ts'
import type { BodyChanges, MarkedCall } from './conversation.ts'
import { markPrompt } from './mark-prompt.ts'
import { markedConverse, markedMessages } from './marked-formats.ts'

/**
 * OpenAI caches every prompt. Its key keeps the calls of a conversation on the machine that has the conversation in its cache. A key of the
 * client stays.
 */
const nameConversation = ({ body, lacks, conversation }: MarkedCall): BodyChanges | undefined =>
  conversation === undefined || body.prompt_cache_key !== undefined || lacks.prompt_cache_key !== undefined
    ? undefined
    : { prompt_cache_key: conversation }

/** What `cache: 'auto'` of a target adds to a request, by the upstream's format. Absent: the provider needs nothing. */
const markers: { readonly [F in UpstreamFormat]?: (call: MarkedCall) => BodyChanges | undefined } = {
  messages: (call) => markPrompt(markedMessages, call),
  converse: (call) => markPrompt(markedConverse, call),
  chat: nameConversation,
  responses: nameConversation,
}

/** Returns the members with which a request asks for its prompt to be cached; undefined if nothing is to be added. */
export const cacheChanges = (format: UpstreamFormat, call: MarkedCall): BodyChanges | undefined =>
  markers[format]?.(call)
