// Median of 3 x 3 x 3, streaming: one voxel in and one out per clock. Voxels come x fastest, then y, then z, of a volume that
// the sender has padded by one voxel on every side (X and Y count the padding); out come the (X-2)(Y-2) of every slice but
// the first two. Two plane buffers and two line buffers; sorted triples and nines are shared between neighbouring windows.
module median #(parameter W = 12, X = 64, Y = 64) (
    input wire clk, input wire rst,
    input wire in_valid, input wire [W-1:0] in_data,
    output wire out_valid, output wire [W-1:0] out_data);

    localparam XB = $clog2(X), YB = $clog2(Y), PB = $clog2(X * Y);
    /* verilator lint_off WIDTH */
    localparam [XB-1:0] LAST_X = X - 1;
    localparam [YB-1:0] LAST_Y = Y - 1;
    /* verilator lint_on WIDTH */

    // Position in the stream. A window is whole from the third voxel, line and plane on.
    reg [XB-1:0] x; reg [YB-1:0] y; reg [PB-1:0] place; reg [1:0] planes;
    wire last_x = x == LAST_X, last_y = y == LAST_Y;
    wire whole = x >= 2 && y >= 2 && planes == 2;
    always @(posedge clk)
        if (rst) begin
            x <= 0; y <= 0; place <= 0; planes <= 0;
        end else if (in_valid) begin
            x <= last_x ? 0 : x + 1'b1;
            place <= last_x && last_y ? 0 : place + 1'b1;
            if (last_x) y <= last_y ? 0 : y + 1'b1;
            if (last_x && last_y && planes != 2) planes <= planes + 1'b1;
        end

    // The same place of the two planes before. Each is read and, a clock later, overwritten by the younger one.
    reg [W-1:0] plane1 [0:X*Y-1], plane2 [0:X*Y-1];
    reg [W-1:0] z0, z1, z2; reg [PB-1:0] old_place; reg v1, whole1;
    always @(posedge clk) begin
        v1 <= in_valid && !rst; whole1 <= whole; z0 <= in_data; old_place <= place;
        z1 <= plane1[place]; z2 <= plane2[place];
        if (v1) begin
            plane1[old_place] <= z0; plane2[old_place] <= z1;
        end
    end

    wire v2, whole2; wire [3*W-1:0] triple;
    sort_three #(W) over_z(clk, v1, whole1, {z0, z1, z2}, v2, whole2, triple);

    // Sorted triples of the two lines before.
    reg [3*W-1:0] line1 [0:X-1], line2 [0:X-1];
    reg [3*W-1:0] y0, y1, y2; reg [XB-1:0] column, old_column; reg v3, whole3;
    always @(posedge clk) begin
        v3 <= v2 && !rst; whole3 <= whole2; y0 <= triple; old_column <= column;
        y1 <= line1[column]; y2 <= line2[column];
        if (rst) column <= 0;
        else if (v2) column <= column == LAST_X ? 0 : column + 1'b1;
        if (v3) begin
            line1[old_column] <= y0; line2[old_column] <= y1;
        end
    end

    wire v4, whole4; wire [9*W-1:0] nine;
    merge_nine #(W) over_y(clk, v3, whole3, {y0, y1, y2}, v4, whole4, nine);

    reg [9*W-1:0] x0, x1, x2; reg v5, whole5;
    always @(posedge clk) begin
        v5 <= v4 && !rst; whole5 <= whole4;
        if (v4) begin
            x0 <= nine; x1 <= x0; x2 <= x1;
        end
    end

    wire v6, whole6;
    median_of_nines #(W) over_x(clk, v5, whole5, {x0, x1, x2}, v6, whole6, out_data);
    assign out_valid = v6 && whole6;
endmodule
