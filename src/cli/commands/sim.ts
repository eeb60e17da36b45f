import { DEFAULT_SIM_MODELS, startSimulator } from '../../sim/index.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit.ts';
import { wholeNumber } from '../setup.ts';
import { untilStopped } from '../stopping.ts';

const LARGEST_SEED = 999_999_999;

export const command: Command = {
  name: 'sim',
  summary: 'Serve simulated models on the wires of OpenAI, Anthropic and Ollama until stopped',
  options: {
    port: { type: 'string', value: 'PORT', help: 'port to listen on; any free one unless given' },
    seed: { type: 'string', value: 'N', help: 'the same seed gives the same replies; 1 unless given' },
    paced: { type: 'boolean', help: "answer at the models' stated speed instead of at once" },
  },
  run: async ({ context, output, text, flag }) => {
    const simulator = await startSimulator({
      port: wholeNumber(text('port') ?? '0', '--port', 0, 65_535),
      seed: wholeNumber(text('seed') ?? '1', '--seed', 0, LARGEST_SEED),
      speed: flag('paced') ? 'real' : 'instant',
    });
    try {
      const { url, banner } = simulator;
      const models = DEFAULT_SIM_MODELS.map((model) => model.name);
      output.result({ url, models, simulated: true }, () =>
        [banner, `OpenAI     ${url}/v1`, `Anthropic  ${url}`, `Ollama     ${url}`].join('\n'),
      );
      await untilStopped(context.stopped);
    } finally {
      await simulator.close();
    }
    return EXIT.done;
  },
};
