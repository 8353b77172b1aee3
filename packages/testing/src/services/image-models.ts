/** The earlier family has other fields, and no usage in responses. */
export const isDalle = (model: string): boolean => /^dall-e/.test(model)

/** The later family by its real names. The demo's own names accept the fields of both. */
export const isGptImage = (model: string): boolean => /^(chat)?gpt-/.test(model)
