import type { JsonObject } from '../../base/json/types.ts'
import { inWords } from './reader.ts'

/** What a tool of the format's own is called: its name, its type, or the one field that stands for it (`{ googleSearch: {} }`). */
export const nativeToolName = (value: JsonObject): string => inWords(value.name ?? value.type ?? Object.keys(value)[0])
