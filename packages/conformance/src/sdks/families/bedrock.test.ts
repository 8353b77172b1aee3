import { bedrockFamilies } from './bedrock.ts'
import { runFamily } from './family-suite.ts'

for (const family of bedrockFamilies) runFamily(family)
