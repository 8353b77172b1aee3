import type { JsonObject } from '../ir.ts'

/** What every model here can be asked for, in the words of the URL. */
const methods = ['generateContent', 'streamGenerateContent']

export const encodeModel = (name: string): JsonObject => ({
  name: `models/${name}`,
  baseModelId: name,
  version: '001',
  displayName: name,
  description: '',
  supportedGenerationMethods: methods,
})

export const encodeModelList = (names: readonly string[]): JsonObject => ({ models: names.map(encodeModel) })
