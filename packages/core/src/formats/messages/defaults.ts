import type { RequestDefaults } from '../shared/defaults.ts'

// Sources: Anthropic's OpenAPI document (CreateMessageParams: `temperature`, `service_tier`, ToolChoiceAuto, RequestToolResultBlock,
// RequestCitationsConfig, CacheControlEphemeral).

/** What a messages request says by leaving a field out. */
export const defaults = {
  '/temperature': 1,
  '/service_tier': 'auto',
  '/stream': false,
  '/tool_choice/type': 'auto',
  '/tool_choice/disable_parallel_tool_use': false,
  '/thinking/type': 'disabled',
  '/tools/*/type': 'custom',
  '/tools/*/strict': false,
  '/messages/*/content/*/is_error': false,
  '/messages/*/content/*/citations/enabled': false,
} as const satisfies RequestDefaults
