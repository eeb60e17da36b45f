/** The configuration of every container; see the README for all keys. Keys of providers come from the environment. */
export default {
  legs: [
    {
      name: 'main',
      provider: 'openai',
      model: process.env.OPENAI_MODEL ?? 'gpt-4o-mini',
      apiKeyEnv: 'OPENAI_API_KEY',
    },
  ],
  defaultLeg: 'main',
};
