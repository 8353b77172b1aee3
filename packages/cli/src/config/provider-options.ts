import type { ProviderEntry, ProviderOptionType } from '@modelgate/core/catalog'

/** Type of an option in a JSON configuration. `keys`: one key or a list of keys. `objects`: a list of objects. */
export type OptionType = ProviderOptionType | 'keys' | 'objects'

/** Options of every provider. `quirks` replace those of the provider one by one. */
const commonOptions = {
  apiKey: 'keys',
  baseURL: 'text',
  headers: 'object',
  quirks: 'object',
  modelRules: 'objects',
} as const satisfies Readonly<Record<string, OptionType>>

/** All options of a provider in a JSON configuration, with their types. */
export const optionTypes = ({ options }: ProviderEntry): Readonly<Record<string, OptionType>> => ({
  ...commonOptions,
  ...options,
})
