// Counts to line integrals, one sample per clock: out = ln(white - dark) - ln|count - dark|, signed, in 2^-18. The host loads
// dark and ln(white - dark) of every channel once (both in 2^0 and 2^-18). A sample at the dark level has no logarithm: it
// comes out with `bad` set, for the host to fill from its neighbours. Latency: 6 clocks.
module flat_log #(parameter CHANNELS = 640) (
    input wire clk, input wire rst,
    input wire load, input wire [$clog2(CHANNELS)-1:0] load_channel, input wire [15:0] load_dark, input wire [21:0] load_white,
    input wire in_valid, input wire [15:0] in_data,
    output reg out_valid, output reg out_bad, output reg signed [22:0] out_data);

    /* verilator lint_off WIDTH */
    localparam [$clog2(CHANNELS)-1:0] LAST = CHANNELS - 1;
    /* verilator lint_on WIDTH */
    reg [15:0] darks [0:CHANNELS-1];
    reg [21:0] whites [0:CHANNELS-1];
    reg [$clog2(CHANNELS)-1:0] channel;
    always @(posedge clk) begin
        if (load) begin
            darks[load_channel] <= load_dark; whites[load_channel] <= load_white;
        end
        if (rst) channel <= 0;
        else if (in_valid) channel <= channel == LAST ? 0 : channel + 1'b1;
    end

    // 1: constants of the channel
    reg v1; reg [15:0] count1, dark1; reg [21:0] white1;
    always @(posedge clk) begin
        v1 <= in_valid && !rst; count1 <= in_data; dark1 <= darks[channel]; white1 <= whites[channel];
    end

    // 2: |count - dark|
    reg v2; reg [15:0] signal2; reg [21:0] white2;
    always @(posedge clk) begin
        v2 <= v1 && !rst; white2 <= white1;
        signal2 <= count1 > dark1 ? count1 - dark1 : dark1 - count1;
    end

    // 3: signal = 2^exponent (1 + mantissa / 2^15)
    reg [3:0] leading; integer i;
    always @* begin
        leading = 0;
        for (i = 1; i < 16; i = i + 1) if (signal2[i]) leading = i[3:0];
    end
    wire [14:0] normal = signal2[14:0] << (4'd15 - leading); // without the leading one
    reg v3, bad3; reg [3:0] exponent3; reg [14:0] mantissa3; reg [21:0] white3;
    always @(posedge clk) begin
        v3 <= v2 && !rst; bad3 <= signal2 == 0; exponent3 <= leading; mantissa3 <= normal; white3 <= white2;
    end

    // 4: table by the upper 8 bits of the mantissa
    wire [27:0] base; wire [21:0] octave;
    flat_log_table entries(mantissa3[14:7], exponent3, base, octave);
    reg v4, bad4; reg [27:0] base4; reg [6:0] rest4; reg signed [22:0] whole4;
    always @(posedge clk) begin
        v4 <= v3 && !rst; bad4 <= bad3; base4 <= base; rest4 <= mantissa3[6:0];
        whole4 <= $signed({1'b0, white3}) - $signed({1'b0, octave});
    end

    // 5: slope times the lower 7 bits, rounded down to 2^-18
    /* verilator lint_off UNUSEDSIGNAL */
    wire [16:0] rise = base4[9:0] * rest4;
    /* verilator lint_on UNUSEDSIGNAL */
    reg v5, bad5; reg [9:0] rise5; reg signed [22:0] whole5;
    always @(posedge clk) begin
        v5 <= v4 && !rst; bad5 <= bad4; rise5 <= rise[16:7];
        whole5 <= whole4 - $signed({5'b0, base4[27:10]});
    end

    // 6: the sum
    always @(posedge clk) begin
        out_valid <= v5 && !rst; out_bad <= bad5; out_data <= whole5 - $signed({13'b0, rise5});
    end
endmodule
