/** What a tool that wants a city takes, strict enough for every provider. */
export const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const
