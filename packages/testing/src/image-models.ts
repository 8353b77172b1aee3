/** The earlier family: other fields, answers without usage. */
export const isDalle = (model: string): boolean => /^dall-e/.test(model)

/** The later family, by its real names. The demo's own names take the fields of both. */
export const isGptImage = (model: string): boolean => /^(chat)?gpt-/.test(model)
