import type { Facet } from './parallel-facets.ts'

/** A known difference between recordings of one conversation, caused by the library. */
export interface Reason {
  readonly facet: Facet
  /** Matches the paths of the exchanges. */
  readonly where: RegExp
  readonly reason: string
}

export const reasons: readonly Reason[] = [
  {
    facet: 'sampling',
    where: /openai-responses\/.*gpt-5-nano_(replaces_previous_system|successfully_uses_the_system)/,
    reason: 'this model does not accept a temperature, so the library sends none',
  },
  {
    facet: 'results',
    where: /openai-chat\/.*(deepseek|ollama_qwen3|openrouter).*multiple_tool_calls_in_a_single/,
    reason: 'recorded with a version that printed results as Ruby does, `{roll: 1}`',
  },
  {
    facet: 'results',
    where: /respects_(choice_required|specific_tool_choice)/,
    reason: 'the result repeats the coordinates that each model invented',
  },
  {
    facet: 'choice',
    where: /openai-chat\/.*mistral.*respects_choice_required/,
    reason: 'this vendor has no `required`: the library names the only tool',
  },
  {
    facet: 'userTexts',
    where: /anthropic-messages\/.*handles_multiple_pdfs/,
    reason: 'this provider fetches documents by URL, for the others the library does',
  },
  {
    facet: 'userTexts',
    where: /(gemini|ollama_granite).*can_understand_remote_images_without_extension/,
    reason: 'these providers do not fetch images by URL: the library does',
  },
  ...(['results', 'tools'] as const).map((facet) => ({
    facet,
    where: /openai-chat\/.*(ollama_qwen3|openrouter).*preserves_strings_returned/,
    reason: 'recorded with a version whose tool returned an attachment too',
  })),
  ...(['results', 'tools'] as const).map((facet) => ({
    facet,
    where: /openai-chat\/test_tool_search__test_tool_search_eval_openai-chat\.0[56]/,
    reason: 'this model used another search query and found one more tool',
  })),
  {
    facet: 'stream',
    where: /reports_consistent_token_counts_compared_to_non-streaming/,
    reason: 'sends the same request twice, streamed and unstreamed',
  },
  { facet: 'tools', where: /chat_web_search_with/, reason: 'each vendor has its own server-side search' },
  ...(['system', 'userTexts', 'results', 'tools'] as const).map((facet) => ({
    facet,
    where: /test_tool_search__test_(cross_provider|live_tool_search)/,
    reason: 'each vendor has its own blocks for found tools; two versions of the library word their prompt differently',
  })),
]
