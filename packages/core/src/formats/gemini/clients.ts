import type { ClientQuirks } from '../codec.ts'

const spoiledByEmptyText: ClientQuirks = { spoiledByEmptyText: true }

/**
 * `@google/generative-ai`, which names itself `genai-js/0.24.1`, leaves a turn out of a chat's history if any part of it has an empty
 * text. Its successor `@google/genai` does so if any chunk has no part. No last chunk suits both: the text is out by then, and a part with
 * anything else in it would be shown or called.
 */
export const clientQuirks = (header: (name: string) => string | undefined): ClientQuirks | undefined =>
  header('x-goog-api-client')?.includes('genai-js/') === true ? spoiledByEmptyText : undefined
